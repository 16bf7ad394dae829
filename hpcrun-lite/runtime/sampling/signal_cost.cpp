// Measures what a signal costs its thread besides the handler: a timer is aimed 20 µs ahead, a loop reads the
// clock, and the gap in it, with the time to arm the timer, is the cost; the least of five trials, some 0.2
// ms in all.
#include "runtime/sampling/signal_cost.hpp"

#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"
#include "runtime/system/thread_timer.hpp"

#include <atomic>
#include <cerrno>
#include <ctime>

namespace culprit::runtime {
namespace {

constexpr int kTrials = 5;
constexpr int kTrialTimer = 65;           // behind the indices of events and kParkingTimer
constexpr std::uint64_t kAhead = 20'000;  // when a trial's signal is due
constexpr std::uint64_t kLongest = 2'000'000;

std::atomic<bool> trying{false};
std::atomic<bool> taken{false};

/// The time that a signal takes from a loop that reads the clock, and what arming it took.
std::uint64_t one_trial(int timer) {
  taken.store(false, std::memory_order_relaxed);
  const itimerspec expiry{.it_interval = {}, .it_value = to_timespec(kAhead)};
  const std::uint64_t before = now();
  if (system_call(SYS_timer_settime, timer, 0, word(&expiry), 0) != 0) return kNever;
  const std::uint64_t armed = now();
  std::uint64_t last = armed;
  while (!taken.load(std::memory_order_relaxed)) {
    last = now();
    if (last > armed + kLongest) return kNever;
  }
  return (armed - before) + (now() - last);
}

}  // namespace

std::uint64_t measure_signal_cost() {
  const auto self = static_cast<int>(thread_id());
  const long created = create_thread_timer(CLOCK_MONOTONIC, process.signal, self, kTrialTimer);
  if (created < 0) return 0;
  const auto timer = static_cast<int>(created);
  const KernelMask before = change_mask(SIG_UNBLOCK, process.mask);
  trying.store(true, std::memory_order_relaxed);
  std::uint64_t least = kNever;
  for (int i = 0; i < kTrials; ++i) {
    const std::uint64_t cost = one_trial(timer);
    if (cost < least) least = cost;
  }
  system_call(SYS_timer_delete, timer);
  trying.store(false, std::memory_order_relaxed);
  change_mask(SIG_SETMASK, before);
  return least == kNever ? 0 : least;
}

bool take_trial(const siginfo_t* info) {
  if (!trying.load(std::memory_order_relaxed) || info->si_code != SI_TIMER ||
      info->si_value.sival_int != kTrialTimer)
    return false;
  taken.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace culprit::runtime
