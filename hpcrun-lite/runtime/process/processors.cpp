// Finds how many processors the process has, for the brake (docs/algorithms.md 13): those of its mask;
// divided by the ranks that the launcher started on the host, where these have to share; and no more than its
// control group, or any around it, may use (versions 1 and 2).
#include "runtime/process/processors.hpp"

#include "measurement/limits.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"
#include "runtime/system/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace culprit::runtime {

namespace {

/// Ranks on this host, by what launchers set for each of them: Open MPI, MPICH's hydra.
constexpr const char* kRanksHere[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};

/// Slurm lists the tasks of this host: "0,3,4".
std::uint64_t tasks_here() {
  const char* tasks = getenv("SLURM_GTIDS");
  if (tasks == nullptr) return 1;
  return 1 + static_cast<std::uint64_t>(std::count(tasks, tasks + strlen(tasks), ','));
}

std::uint64_t ranks_here() {
  for (const char* name : kRanksHere) {
    const char* value = getenv(name);
    const long ranks = value == nullptr ? 0 : strtol(value, nullptr, 10);
    if (ranks > 0) return static_cast<std::uint64_t>(ranks);
  }
  return tasks_here();
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

std::uint64_t known_processors = 0;

}  // namespace

void start_brake(std::uint64_t signal_ns) {
  known_processors = processors_of_process();
  start_brake_of_child(signal_ns);
}

void start_brake_of_child(std::uint64_t signal_ns) {
  const Event& first = process.events.events[0];
  constexpr std::uint64_t kUsualPeriod = kSecond / 200;
  process.brake.start(now(), first.time() ? first.period : kUsualPeriod, known_processors, signal_ns,
                      measurement::kMaxHalvings);
}

namespace {

/// A group in one of the kernel's hierarchies.
struct Group {
  const char* mount = nullptr;  ///< null: there is none
  bool unified = false;         ///< version 2
  char path[1024] = {};         ///< below the mount; empty at its top
};

bool names(const char* list, std::size_t length, const char* controller) {
  const std::size_t wanted = strlen(controller);
  for (const char* at = list; at < list + length;) {
    const std::size_t size = strcspn(at, ",:");
    if (size == wanted && strncmp(at, controller, wanted) == 0) return true;
    at += size + 1;
  }
  return false;
}

/// The group whose limits of this controller count: a line ID:CONTROLLERS:PATH, without controllers of
/// version 2.
void find_group(const char* controller, const char* mount, Group& group) {
  static char groups[4096];  // some threads that end the process have small stacks
  for (const char* line = beginning_of("/proc/self/cgroup", groups); *line != '\0';) {
    const std::size_t length = strcspn(line, "\n");
    const char* list = line + std::min(length, strcspn(line, ":") + 1);
    const std::size_t listed = strcspn(list, ":\n");
    const char* path = list + listed + 1;
    const bool unified = listed == 0 && list[0] == ':';
    const bool named = names(list, listed, controller);
    if (named || (unified && group.mount == nullptr)) {
      const std::size_t size = strcspn(path, "\n");
      if (size < sizeof group.path) {
        group.mount = named ? mount : "/sys/fs/cgroup";
        group.unified = !named;
        memcpy(group.path, path, size);
        group.path[size == 1 ? 0 : size] = '\0';
      }
    }
    line += length + (line[length] == '\n' ? 1 : 0);
  }
}

const char* file_of(const Group& group, const char* name, char* text, std::size_t size) {
  Text<1280> path;
  path.add(group.mount).add(group.path).add("/").add(name);
  text[0] = '\0';
  return path.cut() ? text : beginning_of(path.c_str(), text, size);
}

/// The limit of this group alone.
ProcessorLimit limit_of(const Group& group) {
  char text[512];
  ProcessorLimit limit;
  std::uint64_t period = 0;
  const char* at = nullptr;
  if (group.unified) {
    at = file_of(group, "cpu.max", text, sizeof text);
    limit.quota = next_number(at);  // "max": 0
    period = next_number(at);
    limit.throttled_ns =
        number_behind(file_of(group, "cpu.stat", text, sizeof text), "throttled_usec ") * 1000;
  } else {
    at = file_of(group, "cpu.cfs_quota_us", text, sizeof text);
    limit.quota = next_number(at);  // "-1", none: 0
    at = file_of(group, "cpu.cfs_period_us", text, sizeof text);
    period = next_number(at);
    limit.throttled_ns = number_behind(file_of(group, "cpu.stat", text, sizeof text), "throttled_time ");
  }
  limit.quota = period == 0 ? 0 : limit.quota * 1000 / period;
  return limit;
}

/// How many numbers a list like 0-3,8 names.
std::uint32_t count_listed(const char* list) {
  std::uint64_t count = 0;
  while (*list >= '0' && *list <= '9') {
    const std::uint64_t first = next_number(list);
    const bool range = *list == '-';
    list += range ? 1 : 0;
    const std::uint64_t last = range ? next_number(list) : first;
    count += last >= first ? last - first + 1 : 0;
    list += *list == ',' ? 1 : 0;
  }
  return static_cast<std::uint32_t>(count);
}

}  // namespace

ProcessorLimit processor_limit() {
  Group group;
  find_group("cpu", "/sys/fs/cgroup/cpu", group);
  ProcessorLimit tightest;
  if (group.mount == nullptr) return tightest;
  for (;;) {
    const ProcessorLimit limit = limit_of(group);
    if (limit.quota != 0 && (tightest.quota == 0 || limit.quota < tightest.quota))
      tightest.quota = limit.quota;
    tightest.throttled_ns = std::max(tightest.throttled_ns, limit.throttled_ns);
    char* last = strrchr(group.path, '/');
    if (last == nullptr) return tightest;
    *last = '\0';
  }
}

std::uint32_t processors_of_group() {
  Group group;
  find_group("cpuset", "/sys/fs/cgroup/cpuset", group);
  if (group.mount == nullptr) return 0;
  static char list[4096];
  const char* const name = group.unified ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
  return count_listed(file_of(group, name, list, sizeof list));
}

}  // namespace culprit::runtime
