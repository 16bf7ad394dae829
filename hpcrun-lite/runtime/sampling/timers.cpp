#include "runtime/sampling/timers.hpp"

#include "runtime/recording/refusals.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

#include <csignal>
#include <ctime>

#include <sys/resource.h>

namespace culprit::runtime {
namespace {

/// Of the signals that the user's processes may have pending, the part that timers of parked threads take
/// here.
constexpr std::uint64_t kTimersShare = 8;

/// A parked thread is noticed at the first tick of the kernel after it has used this CPU time.
constexpr std::uint64_t kNoticed = 50'000;

long set_timer(int timer, int flags, std::uint64_t first, std::uint64_t interval, itimerspec* before) {
  const itimerspec expiry{.it_interval = to_timespec(interval), .it_value = to_timespec(first)};
  return system_call(SYS_timer_settime, timer, flags, word(&expiry), word(before));
}

/// Timers of parked threads that this process may still create.
std::atomic<std::int64_t> timers_left{-1};

bool may_create_timer() {
  std::int64_t left = timers_left.load(std::memory_order_relaxed);
  if (left < 0) {
    rlimit limit{};
    const bool known = getrlimit(RLIMIT_SIGPENDING, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    left = known ? static_cast<std::int64_t>(limit.rlim_cur / kTimersShare) : kMostWatched;
    std::int64_t unknown = -1;
    timers_left.compare_exchange_strong(unknown, left, std::memory_order_relaxed);
  }
  left = timers_left.load(std::memory_order_relaxed);
  while (left > 0 && !timers_left.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
  }
  return left > 0;
}

void set_parking_timer(Thread* thread, std::uint64_t length) {
  const itimerspec expiry{.it_interval = {}, .it_value = to_timespec(length)};
  const int timer = thread->parking.timer.load(std::memory_order_seq_cst);
  if (timer >= 0) system_call(SYS_timer_settime, timer, 0, word(&expiry), 0);
}

void delete_parking_timer(Thread* thread) {
  const int id = thread->parking.timer.exchange(-1, std::memory_order_acq_rel);
  if (id < 0) return;
  system_call(SYS_timer_delete, id);
  timers_left.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// Who stops sampling says so before it disarms the timers: either it disarms what was armed here, or it is
// noticed here.
void arm(Thread* thread, std::uint64_t tick) {
  thread->due.store(tick, std::memory_order_relaxed);
  const int timer = thread->timers[kWallClock].load(std::memory_order_relaxed);
  set_timer(timer, TIMER_ABSTIME, monotonic_time(tick), 0, nullptr);
  if (sampling_stopped()) set_timer(timer, 0, 0, 0, nullptr);
}

void start_timers(Thread* thread) {
  if (control.off.load(std::memory_order_relaxed)) return;
  for (std::size_t i = 0; i < process.events.count; ++i) {
    const Event& event = process.events.events[i];
    const bool wall = event.source == EventSource::realtime;
    if (!wall && event.source != EventSource::cputime) continue;
    thread->events[i].remaining_ns = event.period;
    const clockid_t clock = wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    const long timer = create_thread_timer(clock, process.signal, thread->tid, static_cast<int>(i));
    // A filter may allow to create timers, and refuse to set them.
    const long refused = timer >= 0 ? set_timer(static_cast<int>(timer), 0, 0, 0, nullptr) : 0;
    if (timer < 0) {
      timer_refused(i, TimerCall::create, static_cast<int>(-timer));
    } else if (refused < 0) {
      system_call(SYS_timer_delete, timer);
      timer_refused(i, TimerCall::set, static_cast<int>(-refused));
    } else {
      thread->timers[i].store(static_cast<int>(timer), std::memory_order_seq_cst);
    }
  }
  // As in arm(): who changes the state says so first, then looks for timers.
  if (!sampling_stopped()) resume_timers(thread);
  if (sampling_stopped()) pause_timers(thread);
}

void delete_timers(Thread* thread) {
  for (auto& timer : thread->timers) {
    const int id = timer.exchange(-1, std::memory_order_acq_rel);
    if (id >= 0) system_call(SYS_timer_delete, id);
  }
  delete_parking_timer(thread);
}

// The kernel numbers timers in ascending order: an id whose thread is just ending is no other timer's.
void pause_timers(Thread* thread) {
  for (std::size_t i = 0; i < process.events.count; ++i) {
    const int timer = thread->timers[i].load(std::memory_order_seq_cst);
    if (timer < 0) continue;
    itimerspec before{};
    set_timer(timer, 0, 0, 0, &before);
    const auto left = static_cast<std::uint64_t>(before.it_value.tv_sec) * kSecond +
                      static_cast<std::uint64_t>(before.it_value.tv_nsec);
    if (left != 0) thread->events[i].remaining_ns = left;
  }
  disarm_parked(thread);
}

void resume_timers(Thread* thread) {
  for (std::size_t i = 0; i < process.events.count; ++i) {
    const int timer = thread->timers[i].load(std::memory_order_seq_cst);
    if (timer < 0) continue;
    const Event& event = process.events.events[i];
    if (event.source == EventSource::realtime && thread->parking.on.load(std::memory_order_seq_cst)) {
      arm_parked(thread);
    } else if (event.source == EventSource::realtime) {
      const std::uint64_t due = monotonic_time(thread->due.load(std::memory_order_relaxed));
      set_timer(timer, TIMER_ABSTIME, due, 0, nullptr);
    } else {
      set_timer(timer, 0, thread->events[i].remaining_ns, event.period, nullptr);
    }
  }
}

void arm_wall_clock(Thread* thread) {
  arm(thread, thread->grid.next());
}

void sample_now(Thread* thread) {
  const int timer = thread->timers[kWallClock].load(std::memory_order_seq_cst);
  if (timer < 0) return;
  set_timer(timer, 0, 1, 0, nullptr);
  if (sampling_stopped()) set_timer(timer, 0, 0, 0, nullptr);
}

void create_parking_timer(Thread* thread) {
  if (thread->parking.timer.load(std::memory_order_relaxed) >= 0 || !may_create_timer()) return;
  const long timer = create_thread_timer(CLOCK_THREAD_CPUTIME_ID, process.signal, thread->tid, kParkingTimer);
  if (timer >= 0) {
    thread->parking.timer.store(static_cast<int>(timer), std::memory_order_seq_cst);
  } else {
    timers_left.fetch_add(1, std::memory_order_relaxed);
  }
}

// As with the wall clock: who stops sampling says so first, then disarms.
void arm_parked(Thread* thread) {
  set_parking_timer(thread, kNoticed);
  if (sampling_stopped()) disarm_parked(thread);
}

void disarm_parked(Thread* thread) {
  set_parking_timer(thread, 0);
}

void forget_parking_timers() {
  timers_left.store(-1, std::memory_order_relaxed);
}

}  // namespace culprit::runtime
