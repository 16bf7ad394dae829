// Charges what the handler's ticks do not cover (docs/algorithms.md 13): events besides REALTIME, calls in
// which the signal was held back, parked waits, and the CPU time that late samples left. A value that cannot
// be recorded at the moment is carried to the next sample. If sampling was slowed, only every 2^n-th sample
// of a CPU timer or a PAPI event is recorded, with the values of all; the kernel's events come more rarely
// then.
#include "runtime/sampling/charge.hpp"

#include "runtime/recording/call_path.hpp"
#include "runtime/recording/readings.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/stretches.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/timers.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"

#include <algorithm>

namespace culprit::runtime {
namespace {

using measurement::SampleValues;

/// Charges what is carried of an event besides REALTIME to the interrupted call path. False: not now.
bool record_carried(Thread* thread, std::size_t event, const void* context) {
  if (!ensure_tree(thread)) {
    if (!thread->tree_refused) return false;
    count_lost(1);
    delete_timers(thread);
    return true;
  }
  const bool alone = !process.events.has_realtime();
  WalkFlaws flaws;
  const measurement::NodeIndex node = current_path(thread, unwind::registers_of(context), flaws);
  // Beside REALTIME, its samples are the ones that are counted.
  if (flaws.any() && alone)
    count_flaws(thread, flaws, process.events.events[event].time() ? thread->events[event].carried : 0);
  thread->tree->record_event(node, alone ? event : event - 1, thread->events[event].carried);
  if (thread->trace != nullptr) [[unlikely]]
    read_sampled_event(thread, event, now(), node);
  return true;
}

/// It was recorded.
void forget_carried(Thread* thread, std::size_t event) {
  thread->events[event].carried = 0;
  if (process.events.events[event].source != EventSource::cputime) thread->events[event].read = 0;
}

}  // namespace

std::uint32_t event_halvings(const Thread* thread) {
  return std::min<std::uint32_t>(thread->account.halvings, measurement::kMaxOwnHalvings);
}

void charge(Thread* thread, std::size_t event, std::uint64_t value, const void* context) {
  thread->events[event].carried += value;
  if (process.empty_handler || thread->events[event].carried == 0 || sampling_stopped()) return;
  if (is_counting(thread, unwind::registers_of(context).sp)) return;
  if (process.events.events[event].source != EventSource::kernel) {
    if (++thread->events[event].skipped < std::uint64_t{1} << event_halvings(thread)) return;
    thread->events[event].skipped = 0;
  }
  if (!begin_recording(thread)) return;
  if (record_carried(thread, event, context)) forget_carried(thread, event);
  end_recording(thread);
}

void charge_wait(Thread* thread, measurement::NodeIndex node, measurement::WaitKind mark,
                 std::uint64_t weight, std::uint64_t time) {
  const std::uint64_t elapsed = weight * thread->grid.period();
  thread->tree->record(node, SampleValues{.time_ns = elapsed,
                                          .weight = weight,
                                          .cpu_ns = 0,
                                          .blocked = true,
                                          .mark = mark,
                                          .stretch = present_stretch()});
  if (teams::active()) blame_call(thread, node, elapsed, time);
  if (thread->trace != nullptr) thread->trace->sample(monotonic_time(time), elapsed, node, mark);
}

void charge_late_cpu_time(Thread* thread) {
  ChargedTime& cpu = thread->cpu;
  if (cpu.late == 0 || thread->tree == nullptr || !thread->tree->life().usable()) return;
  thread->tree->add_cpu_time(cpu.late_node, cpu.carried_ns);
  cpu.carried_ns = cpu.late = 0;
}

void charge_late_cpu_time_of_all() {
  if (!file.open()) return;  // a rank that is not wanted has no trees any more
  for (Thread* thread = first_thread(); thread != nullptr; thread = thread->pool.next) {
    if (thread->pool.used.load(std::memory_order_acquire)) charge_late_cpu_time(thread);
  }
}

void charge_blocked(Thread* thread, const unwind::Registers& start) {
  if (!process.events.has_realtime() || !ensure_tree(thread)) return;
  const std::uint64_t time = sampling_time(now());
  const std::uint64_t weight = thread->grid.pass(time);
  thread->due.store(thread->grid.next(), std::memory_order_relaxed);
  if (weight == 0) return;
  WalkFlaws flaws;
  const measurement::NodeIndex node = current_path(thread, start, flaws);
  if (flaws.any()) count_flaws(thread, flaws, weight * thread->grid.period());
  charge_wait(thread, node, current_mark(thread, start, flaws).kind, weight, time);
  if (thread->trace != nullptr && samples_further_events()) read_events(thread, monotonic_time(time), node);
}

}  // namespace culprit::runtime
