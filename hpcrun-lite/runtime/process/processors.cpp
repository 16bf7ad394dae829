#include "runtime/process/processors.hpp"

#include "measurement/limits.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"
#include "runtime/system/text.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

/// Ranks on this host, by what launchers set for each of them: Open MPI, MPICH's hydra, Slurm.
constexpr const char* kRanksHere[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                      "SLURM_STEP_TASKS_PER_NODE"};

std::uint64_t ranks_here() {
  for (const char* name : kRanksHere) {
    const char* value = getenv(name);
    const long ranks = value == nullptr ? 0 : strtol(value, nullptr, 10);
    if (ranks > 0) return static_cast<std::uint64_t>(ranks);
  }
  return 1;
}

/// Processors in the calling thread's mask.
std::uint64_t allowed() {
  std::uint64_t mask[128];  // 8 192 processors
  const long bytes = system_call(SYS_sched_getaffinity, 0, sizeof mask, word(mask));
  std::uint64_t count = 0;
  for (long i = 0; i < bytes / static_cast<long>(sizeof *mask); ++i)
    count += static_cast<std::uint64_t>(__builtin_popcountll(mask[i]));
  return count;
}

/// The beginning of a file, as a string; empty where it cannot be read.
template <std::size_t Size>
const char* beginning_of(const char* path, char (&text)[Size]) {
  text[0] = '\0';
  const long file = system_call(SYS_openat, AT_FDCWD, word(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  const long got = system_call(SYS_read, file, word(text), Size - 1);
  text[got > 0 ? got : 0] = '\0';
  system_call(SYS_close, file);
  return text;
}

/// What the process's control group may use, in thousandths of a processor; 0: as much as it likes, or not
/// known (version 1 of control groups).
std::uint64_t quota_of_group() {
  char groups[4096];
  const char* group = strstr(beginning_of("/proc/self/cgroup", groups), "0::");
  if (group == nullptr) return 0;
  PathText path;
  path.add("/sys/fs/cgroup").add(group + 3, strcspn(group + 3, "\n")).add("/cpu.max");
  char limit[64];
  if (path.cut()) return 0;
  char* rest = nullptr;
  const std::uint64_t quota = strtoull(beginning_of(path.c_str(), limit), &rest, 10);
  const std::uint64_t period = strtoull(rest, nullptr, 10);
  return period == 0 ? 0 : quota * 1000 / period;
}

/// The processors that this process has, in thousandths: those that it may run on, or its share of them where
/// the ranks that its MPI launcher started here have to share; no more than its control group may use.
std::uint64_t processors_of_process() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  const std::uint64_t all = online > 0 ? static_cast<std::uint64_t>(online) : 1;
  const std::uint64_t bound = allowed();
  const std::uint64_t mine = bound == 0 ? all : bound;
  const std::uint64_t ranks = ranks_here();
  // Ranks that have more processors than there are share them.
  const bool shared = mine * ranks > all || mine < ranks;
  const std::uint64_t processors = mine * 1000 / (shared ? ranks : 1);
  const std::uint64_t quota = quota_of_group();
  return quota != 0 && quota < processors ? quota : processors;
}

}  // namespace

void start_brake(std::uint64_t signal_ns) {
  const Event& first = process.events.events[0];
  constexpr std::uint64_t kUsualPeriod = kSecond / 200;
  process.brake.start(now(), first.time() ? first.period : kUsualPeriod, processors_of_process(), signal_ns,
                      measurement::kMaxHalvings);
}

}  // namespace culprit::runtime
