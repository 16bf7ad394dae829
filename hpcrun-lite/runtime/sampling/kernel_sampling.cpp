// The kernel's software events as sources of samples. Context switches that our own signals bring about are
// left out: a signal wakes a thread that waits in a system call, which the kernel then starts over, and the
// thread leaves its processor once more. So are page faults that the kernel gave up for our signal, and began
// again after it. The event's next signal comes one event later in both cases, since it would start the call,
// or the fault, over for ever. Where sampling was slowed, signals come after that many more events.
#include "runtime/sampling/kernel_sampling.hpp"

#include "runtime/recording/refusals.hpp"
#include "runtime/sampling/charge.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/system_calls.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <sys/resource.h>

namespace culprit::runtime {
namespace {

/// What a sample is charged, and how many events later than usual the next one comes.
struct Overflow {
  std::uint64_t count, extra;
};

/// Of switches, what the program itself did. The call that starts over will switch once more.
Overflow of_switches(Thread* thread, std::uint64_t count, const void* context) {
  const std::uint64_t own = std::min(thread->own_switches, count);
  thread->own_switches = starts_over(context) ? 1 : 0;
  return {.count = count - own, .extra = thread->own_switches};
}

/// Page faults of the calling thread that were served; 0: not known.
std::uint64_t served_faults() {
  rusage usage{};
  if (system_call(SYS_getrusage, RUSAGE_THREAD, word(&usage)) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_minflt) + static_cast<std::uint64_t>(usage.ru_majflt);
}

/// Of attempts to serve page faults, those that were served since the last sample, and the present one, which
/// may be yet to be. Where none was, the present one is the last one again.
Overflow of_faults(EventState& state, std::uint64_t attempts) {
  const std::uint64_t served = served_faults();
  if (served == 0) return {.count = attempts, .extra = 0};
  const std::uint64_t fresh = served - std::min(std::exchange(state.served, served), served);
  const std::uint64_t due = fresh + 1 - (state.ahead ? 1 : 0);
  state.ahead = attempts >= due;
  const std::uint64_t count = std::min(attempts, due);
  return {.count = count, .extra = count == 0 ? std::uint64_t{1} : 0};
}

/// Of the thread's kernel events.
template <typename Change>
void for_each_sampler(Thread* thread, Change change) {
  for (std::size_t i = 0; i < process.events.count; ++i) {
    if (process.events.events[i].source == EventSource::kernel) change(thread->events[i].kernel);
  }
}

}  // namespace

void start_kernel_events(Thread* thread) {
  for (std::size_t i = 0; i < process.events.count; ++i) {
    thread->events[i].kernel.reset();
    thread->events[i].served = 0;
    thread->events[i].ahead = false;
    const Event& event = process.events.events[i];
    if (event.source != EventSource::kernel) continue;
    const int error = thread->events[i].kernel.start(event, thread->tid, process.signal);
    if (error != 0) event_failed(i, strerrordesc_np(error));
  }
  // Who changes the state says so first, then looks for events.
  if (sampling_stopped()) pause_kernel_events(thread);
  if (!sampling_stopped()) resume_kernel_events(thread);
}

void pause_kernel_events(Thread* thread) {
  for_each_sampler(thread, [](KernelSampler& sampler) { sampler.pause(); });
}

void resume_kernel_events(Thread* thread) {
  for_each_sampler(thread, [](KernelSampler& sampler) { sampler.resume(); });
}

void stop_kernel_events(Thread* thread) {
  for_each_sampler(thread, [](KernelSampler& sampler) { sampler.stop(); });
}

void silence_kernel_events(Thread* thread) {
  for_each_sampler(thread, [](KernelSampler& sampler) { sampler.silence(); });
}

void rearm_kernel_events(Thread* thread) {
  const KernelSampler::Pace pace{.halvings = event_halvings(thread)};
  for_each_sampler(thread, [&](KernelSampler& sampler) { sampler.arm(pace, sampling_stopped()); });
}

bool is_overflow(const siginfo_t* info) {
  return process.samples_kernel_events && (info->si_code == POLL_IN || info->si_code == POLL_HUP);
}

bool take_overflow(Thread* thread, const siginfo_t* info, const void* context) {
  if (!is_overflow(info)) return false;
  for (std::size_t i = 0; i < process.events.count; ++i) {
    KernelSampler& sampler = thread->events[i].kernel;
    const Event& event = process.events.events[i];
    if (event.source != EventSource::kernel || !sampler.sends(info->si_fd)) continue;
    Overflow overflow{.count = sampler.take(), .extra = 0};
    if (event.is_switch()) {
      overflow = of_switches(thread, overflow.count, context);
    } else {
      count_own_switch(thread, context);
    }
    if (event.is_fault()) overflow = of_faults(thread->events[i], overflow.count);
    charge(thread, i, overflow.count, context);
    const bool stopped = sampling_stopped();
    sampler.arm({.halvings = event_halvings(thread), .extra = overflow.extra}, stopped);
    if (stopped && !sampling_stopped()) sampler.resume();
    break;
  }
  return true;
}

void count_own_switch(Thread* thread, const void* context) {
  if (process.samples_switches && starts_over(context)) ++thread->own_switches;
}

}  // namespace culprit::runtime
