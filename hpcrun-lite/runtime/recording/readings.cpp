#include "runtime/recording/readings.hpp"

#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"

namespace culprit::runtime {
namespace {

/// PAPI's counters must not be read in a handler, which may have interrupted PAPI. Of context switches those
/// that our own signals brought about are counted only when they are sampled.
bool can_be_read(const Event& event) {
  return event.source == EventSource::cputime || (event.source == EventSource::kernel && !event.is_switch());
}

/// What was counted since the reading before.
std::uint64_t fresh(Thread* thread, std::size_t event) {
  std::uint64_t& read = thread->events[event].read;
  if (process.events.events[event].source == EventSource::cputime) {
    const std::uint64_t used = sampled_cpu_time(thread);
    const std::uint64_t since = used > read ? used - read : 0;
    read += since;
    return since;
  }
  const std::uint64_t since = thread->events[event].carried - read;
  read = thread->events[event].carried;
  return since;
}

void add_reading(Thread* thread, std::size_t event, std::uint64_t time, measurement::NodeIndex node) {
  const std::size_t number = process.events.has_realtime() ? event - 1 : event;
  thread->trace->reading(time, number, fresh(thread, event), node);
}

}  // namespace

bool samples_further_events() {
  return process.events.count > (process.events.has_realtime() ? 1U : 0U);
}

void read_events(Thread* thread, std::uint64_t time, measurement::NodeIndex node) {
  for (std::size_t i = 0; i < process.events.count; ++i) {
    const Event& event = process.events.events[i];
    if (!can_be_read(event)) continue;
    if (event.source == EventSource::kernel) thread->events[i].carried += thread->events[i].kernel.take();
    add_reading(thread, i, time, node);
  }
}

void read_sampled_event(Thread* thread, std::size_t event, std::uint64_t time, measurement::NodeIndex node) {
  add_reading(thread, event, time, node);
}

std::uint64_t sampled_cpu_time(const Thread* thread) {
  const std::uint64_t used = thread_cpu_time();
  // A stop that began before the thread did may be counted with what another thread used.
  const std::uint64_t stopped = thread->cpu.stopped_ns.load(std::memory_order_relaxed);
  return used > stopped ? used - stopped : 0;
}

std::uint64_t cpu_time_unsampled(const Thread* thread) {
  const std::uint64_t used = sampled_cpu_time(thread);
  return used > thread->cpu.last_ns ? used - thread->cpu.last_ns : 0;
}

}  // namespace culprit::runtime
