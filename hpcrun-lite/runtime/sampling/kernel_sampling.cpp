// The kernel's software events as sources of samples. Context switches that our own signals bring about are
// left out: a signal wakes a thread that waits in a system call, which the kernel then starts over, and the
// thread leaves its processor once more. The event's next signal comes one switch later in that case, since
// it would start the call over for ever.
#include "runtime/sampling/kernel_sampling.hpp"

#include "runtime/recording/refusals.hpp"
#include "runtime/sampling/charge.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/system_calls.hpp"

#include <cstring>

namespace culprit::runtime {
namespace {

/// What the program itself did of the `count` switches.
std::uint64_t without_own(Thread* thread, std::uint64_t count) {
  const std::uint64_t own = thread->own_switches < count ? thread->own_switches : count;
  thread->own_switches = 0;
  return count - own;
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
  for_each_sampler(thread, [](KernelSampler& sampler) { sampler.arm(0, sampling_stopped()); });
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
    std::uint64_t count = sampler.take();
    std::uint64_t extra = 0;
    if (event.is_switch()) {
      // The call that starts over will switch once more; a signal for that would start it over for ever.
      extra = starts_over(context) ? 1 : 0;
      count = without_own(thread, count);
      thread->own_switches = extra;
    } else {
      count_own_switch(thread, context);
    }
    charge(thread, i, count, context);
    const bool stopped = sampling_stopped();
    sampler.arm(extra, stopped);
    if (stopped && !sampling_stopped()) sampler.resume();
    break;
  }
  return true;
}

void count_own_switch(Thread* thread, const void* context) {
  if (process.samples_switches && starts_over(context)) ++thread->own_switches;
}

}  // namespace culprit::runtime
