// The cost of the handler's runs, and the rate that follows (docs/algorithms.md 13). One run in 16 is timed.
#include "runtime/sampling/run_cost.hpp"

#include "runtime/recording/recording.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"

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
  if (thread->tree != nullptr) thread->tree->add_handler_time(account.ns);
  end_recording(thread);
}

[[gnu::cold, gnu::noinline]] void change_rate(Thread* thread, std::uint32_t halvings) {
  if (!begin_recording(thread)) return;
  if (thread->tree != nullptr) {
    if (halvings > thread->account.halvings) thread->tree->count_halving(halvings);
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

}  // namespace culprit::runtime
