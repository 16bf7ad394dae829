// The cost of the handler's runs, and the rate that follows (docs/algorithms.md 13). One run in 16 is timed.
#include "runtime/sampling/run_cost.hpp"

#include "runtime/recording/recording.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

#include <atomic>
#include <cerrno>
#include <ctime>

namespace culprit::runtime {

namespace {

/// Charges a timed run, with what it cost besides.
[[gnu::cold, gnu::noinline]] void account(Thread* thread, std::uint64_t outside) {
  const std::uint64_t taken = thread_cpu_time() - thread->account.timed_from + process.added_cost;
  thread->account.timed_from = 0;
  // A thread that was woken has done nothing else since: that counts its way back to sleep, too.
  const std::uint64_t run = taken + outside;
  const HandlerCost::Account account =
      thread->account.cost.end(thread->account.woken_ns > run ? thread->account.woken_ns : run, now());
  if (account.usual) process.brake.time(account.ns / HandlerCost::kEvery);
  if (account.too_costly && thread->account.own_halvings < measurement::kMaxOwnHalvings)
    ++thread->account.own_halvings;
  if (!begin_recording(thread)) return;
  if (thread->tree != nullptr) thread->tree->counters().add_handler_time(account.ns);
  end_recording(thread);
}

[[gnu::cold, gnu::noinline]] void change_rate(Thread* thread, std::uint32_t halvings) {
  if (!begin_recording(thread)) return;
  if (thread->tree != nullptr) {
    if (halvings > thread->account.halvings) thread->tree->counters().count_halving(halvings);
    thread->account.halvings = halvings;
    if (process.events.has_realtime()) thread->grid.set_halvings(halvings);
  }
  end_recording(thread);
}

}  // namespace

void begin_run(Thread* thread) {
  const bool timed = !process.empty_handler && thread->account.cost.begin();
  thread->account.timed_from = timed ? thread_cpu_time() : 0;
  thread->account.run_is_counted = process.empty_handler;
}

void end_run(Thread* thread, std::uint64_t outside) {
  if (thread->account.run_is_counted) return;
  thread->account.run_is_counted = true;
  if (thread->account.timed_from != 0) [[unlikely]]
    account(thread, outside);
  if (!thread->account.cost.is_new() && process.brake.count()) [[unlikely]]
    process.brake.judge(now());
  const std::uint32_t together = process.brake.halvings();
  const std::uint32_t halvings =
      thread->account.own_halvings > together ? thread->account.own_halvings : together;
  const bool parked = thread->parking.on.load(std::memory_order_relaxed);
  if (halvings != thread->account.halvings && !parked) [[unlikely]]
    change_rate(thread, halvings);
}

// Measures what a signal costs its thread besides the handler: a timer is aimed 20 µs ahead, a loop reads the
// clock, and the gap in it, with the time to arm the timer, is the cost; the least of five trials, some 0.2
// ms in all.

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
