// Asks the kernel how threads were scheduled and what the host had to give (docs/algorithms.md 5.6), ever
// more rarely.
#include "runtime/process/scheduling.hpp"

#include "measurement/schedule.hpp"
#include "runtime/process/processors.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"
#include "runtime/system/text.hpp"

#include <algorithm>

#include <unistd.h>

namespace culprit::runtime {
namespace {

using measurement::HostLoad;
using measurement::ProcessorSet;
using measurement::Schedule;

constexpr std::uint64_t kWorthAsking = kSecond / 100;  // CPU time since the kernel was asked last
constexpr std::uint64_t kFirstLook = kSecond / 4;
constexpr std::uint64_t kSamplesOfWork = 4;

/// What the kernel counted before the process's measurement began: one thread became the program by exec.
struct Begin {
  int tid = 0;
  Schedule main;
  // Of the host; of a forked child, since its measurement has a file.
  std::uint32_t online = 0;   ///< processors of the host
  std::uint64_t tick_ns = 0;  ///< what the kernel counts idle time in; 0: not known
  std::uint64_t time_ns = 0;
  std::uint64_t throttled_ns = 0, idle_ns = measurement::kIdleUnknown;
};
Begin begun;
std::uint64_t next_look = 0;

/// Processors that a thread may run on.
ProcessorSet processors_of(int tid) {
  std::uint64_t mask[128];  // 8 192 processors
  const long bytes = system_call(SYS_sched_getaffinity, tid, sizeof mask, word(mask));
  ProcessorSet set;
  for (long i = 0; i < bytes / static_cast<long>(sizeof *mask); ++i) {
    for (std::uint64_t left = mask[i]; left != 0; left &= left - 1) {
      if (!set.add(static_cast<std::uint16_t>(i * 64 + __builtin_ctzll(left)))) return set;
    }
  }
  return set;
}

/// Time on processors, and waiting for one; both 0 where the kernel does not say.
void read_times(int tid, Schedule& schedule) {
  Text<64> path;
  path.add("/proc/self/task/").number(static_cast<std::uint64_t>(tid)).add("/schedstat");
  char text[128];
  const char* at = beginning_of(path.c_str(), text);
  schedule.ran_ns = next_number(at);
  schedule.runnable_ns = next_number(at);
}

/// Context switches of another thread. One caller at a time: the text is long where there are many
/// processors.
void read_switches(int tid, Schedule& schedule) {
  static char text[16 * 1024];
  Text<64> path;
  path.add("/proc/self/task/").number(static_cast<std::uint64_t>(tid)).add("/status");
  beginning_of(path.c_str(), text);
  schedule.voluntary = static_cast<std::uint32_t>(number_behind(text, "\nvoluntary_ctxt_switches:\t"));
  schedule.involuntary = static_cast<std::uint32_t>(number_behind(text, "\nnonvoluntary_ctxt_switches:\t"));
}

/// Less what was before the process began to be measured.
Schedule since_begin(int tid, Schedule schedule) {
  if (tid != begun.tid) return schedule;
  const Schedule& before = begun.main;
  schedule.ran_ns -= std::min(schedule.ran_ns, before.ran_ns);
  schedule.runnable_ns -= std::min(schedule.runnable_ns, before.runnable_ns);
  schedule.voluntary -= std::min(schedule.voluntary, before.voluntary);
  schedule.involuntary -= std::min(schedule.involuntary, before.involuntary);
  return schedule;
}

/// What all processors of the host had nothing to do, since its boot.
std::uint64_t idle_time() {
  char text[256];
  const char* at = beginning_of("/proc/stat", text);
  if (strncmp(at, "cpu ", 4) != 0) return measurement::kIdleUnknown;
  at += 4;
  std::uint64_t fields[5] = {};  // user, nice, system, idle, waiting for input and output: idle, too
  for (std::uint64_t& field : fields) field = next_number(at);
  return begun.tick_ns == 0 ? measurement::kIdleUnknown : (fields[3] + fields[4]) * begun.tick_ns;
}

void note_host_load(std::uint64_t time) {
  const ProcessorLimit limit = processor_limit();
  HostLoad load{.span_ns = time - std::min(time, begun.time_ns),
                .online = begun.online,
                .quota = limit.quota,
                .throttled_ns = limit.throttled_ns - std::min(limit.throttled_ns, begun.throttled_ns)};
  const std::uint32_t group = processors_of_group();
  load.allowed = group != 0 && group < load.online ? group : load.online;
  // Processors that the process may not use are idle in vain.
  const std::uint64_t idle = load.allowed == load.online ? idle_time() : measurement::kIdleUnknown;
  if (idle != measurement::kIdleUnknown && begun.idle_ns <= idle) load.idle_ns = idle - begun.idle_ns;
  file.set_host_load(load);
}

/// Of one thread, unless it hardly ran since it was last asked.
void ask(std::size_t index) {
  const measurement::ThreadTree* tree = file.thread(index);
  if (tree == nullptr || !tree->life().usable()) return;
  const std::uint64_t id = tree->header().tid;
  const auto tid = static_cast<int>(id);
  const std::uint64_t recorded = tree->header().schedule.ran_ns;
  const std::uint64_t ran = cpu_time_of(tid);
  // A tree that ended threads used before holds their times, too.
  if (tid != begun.tid && ran < (recorded < ran ? recorded : 0) + kWorthAsking) return;
  Schedule schedule;
  read_times(tid, schedule);
  read_switches(tid, schedule);
  schedule.processors = processors_of(tid);
  file.set_schedule(index, id, since_begin(tid, schedule));
}

}  // namespace

void begin_schedules() {
  begin_schedules_of_child();
  begin_host_load();
  read_times(begun.tid, begun.main);
  read_switches(begun.tid, begun.main);
}

void begin_schedules_of_child() {
  begun = {};
  begun.tid = static_cast<int>(thread_id());
  begun.time_ns = now();
  next_look = begun.time_ns + kFirstLook;
}

void begin_host_load() {
  if (begun.online != 0) return;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  const long ticks = sysconf(_SC_CLK_TCK);
  begun.online = online > 0 ? static_cast<std::uint32_t>(online) : 0;
  begun.tick_ns = ticks > 0 ? kSecond / static_cast<std::uint64_t>(ticks) : 0;
  begun.throttled_ns = processor_limit().throttled_ns;
  // What was idle before is not known by now.
  begun.idle_ns = now() - begun.time_ns < kSecond ? idle_time() : measurement::kIdleUnknown;
}

void note_schedules_now(std::uint64_t time) {
  next_look = time + std::max(kFirstLook, (time - std::min(time, begun.time_ns)) / 8);
  if (!file.open()) return;
  for (std::size_t i = 0; i < file.thread_count(); ++i) ask(i);
  note_host_load(time);
}

std::uint64_t waited_for_processor_ns() {
  Schedule schedule;
  read_times(static_cast<int>(thread_id()), schedule);
  return schedule.runnable_ns;
}

void note_schedules(std::uint64_t time) {
  if (time >= next_look) return note_schedules_now(time);
  for (std::size_t i = 0; i < file.thread_count(); ++i) {
    const measurement::ThreadTree* tree = file.thread(i);
    if (tree == nullptr || !tree->life().usable()) continue;
    // A thread that waits is parked after two or three samples: no clock need be read to leave it out.
    const auto& counters = tree->header();
    if (counters.schedule.ran_ns == 0 && counters.samples >= kSamplesOfWork) ask(i);
  }
}

}  // namespace culprit::runtime
