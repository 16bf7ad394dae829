#include "runtime/process/processors.hpp"

#include "measurement/limits.hpp"
#include "runtime/process/control_group.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

#include <cstdlib>

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
  const std::uint64_t quota = processor_limit().quota;
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
