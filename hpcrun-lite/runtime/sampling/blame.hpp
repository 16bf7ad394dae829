#pragma once

#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/tick_clock.hpp"
#include "runtime/teams/account.hpp"
#include "runtime/teams/lock_queue.hpp"

#include <cstdint>

#include <pthread.h>

// Who idles because of whom within the process (docs/algorithms.md 12): the threads' accounts, and what of
// them goes into the measurement. Nothing is counted before the program has a second thread.
namespace culprit::runtime {

/// The time of accounts: the sampling clock, read cheaply, and not in the middle of its change: but where a
/// handler interrupted that, which is not to wait for itself.
inline std::uint64_t account_time() {
  for (int look = 0;; ++look) {
    const std::uint32_t before = control.changes.load(std::memory_order_acquire);
    const std::uint64_t time = sampling_time(tick_clock.read());
    std::atomic_thread_fence(std::memory_order_acquire);
    constexpr int kLooks = 10'000;
    if ((before % 2 == 0 && control.changes.load(std::memory_order_relaxed) == before) || look == kLooks)
        [[likely]]
      return time;
  }
}

/// A thread is about to be created, or a team: from here on all threads are counted. By its creator.
void count_caller();
/// The calling thread, which begins or goes on in a forked child, is counted where others are.
void begin_blame(Thread* thread);
/// It ends.
void end_blame(Thread* thread);
/// In a forked child, before begin_blame().
void forget_blame();

/// What one sample stands for.
struct BlamedSample {
  std::uint64_t ns;
  std::int64_t rate;  ///< teams::rate when it was taken: others may begin to idle during the walk
  bool left;          ///< of a thread whose mark a jump left behind
};
/// Charges the code at `node`, where the calling thread was sampled, with what it made others wait at that
/// moment; of a blocked call, with what it did throughout. By the handler, recording; `time`: the sampling
/// clock's.
void blame_sample(Thread* thread, measurement::NodeIndex node, BlamedSample sample, std::uint64_t time);
/// Charges a call that took up to `time` and stands for `ns`: with what it made others wait since
/// begin_window().
void blame_call(Thread* thread, measurement::NodeIndex node, std::uint64_t ns, std::uint64_t time);
/// The calling thread is in one place from now on: its next sample stands for that.
void begin_window(Thread* thread, std::uint64_t time);

/// Adds what the thread has counted since to its tree's totals. By the thread itself, recording.
void publish_totals(Thread* thread, std::uint64_t time);
/// The same at the thread's end, and to its time line what it waited in short waits.
void publish_last_totals(Thread* thread, std::uint64_t time);
/// Those of all threads, when nobody records any more.
void publish_all_totals();

/// The calling thread, which is counted, does `activity` from now on. Returns what it did. Async-signal-safe.
Activity turn_to(Thread* thread, Activity activity);

/// The same outside of any CallMark: no sample finds that a mark was left behind.
Activity turn_unmarked(Thread* thread, Activity activity);

/// The calling thread begins its part of a parallel region, wherever it idled or began: in `team`, or where
/// that is null in the team that it is in.
void enter_team(Thread* thread, const TeamRef* team);

/// teams::begin_team for a parallel region that the calling thread meets.
bool begin_region(Thread* master, TeamRef& team);

/// The calling thread, master of its innermost team, or where `is_team` is false of threads that count in the
/// team around, works again around the region that ends.
void end_region(Thread* master, bool is_team);

/// Lives while the calling thread waits for what comes from outside of the process: messages, descriptors,
/// signals. A few stores; nothing where threads are not counted, or `waits` is false.
class OutsideWait {
 public:
  explicit OutsideWait(bool waits = true);
  ~OutsideWait();
  OutsideWait(const OutsideWait&) = delete;
  OutsideWait& operator=(const OutsideWait&) = delete;

 private:
  Thread* thread_;  ///< null: it was not working before
};

/// A jump leaves what the thread did, an OutsideWait perhaps: it works. Async-signal-safe.
void leave_outside(Thread* thread);

/// Lives while the thread waits for `lock`, which another holds. What a longjmp leaves behind ends with the
/// thread's next one, its next sample, or its end.
class LockWait {
 public:
  explicit LockWait(const void* lock);
  LockWait(const LockWait&) = delete;
  LockWait& operator=(const LockWait&) = delete;
  /// The thread waits no more. To be called in any case.
  void end(bool acquired);

 private:
  Thread* thread_;  ///< null: it is not counted, or within another wait
};

/// The calling thread is about to wait for the end of that one.
void note_join(pthread_t thread);

/// The calling function's caller takes `lock`, or waits for it. To be inlined into the function that stands
/// for the one that does so. A few stores; nothing where threads are not counted.
[[gnu::always_inline]] inline void note_taken(const volatile void* lock) {
  if (!culprit_rt_thread.counted) return;
  this_thread()->blame.taken.of(lock) = {
      .lock = lock,
      .by = {.return_to = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),
             .cfa = reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa())}};
}

/// What others have waited for `lock`, which the caller is about to give back together with `holders` in all;
/// 0 where nobody does.
std::uint64_t settle_lock(const void* lock, std::uint64_t holders);
/// After it was given back: charges that to the caller's call path, or to the function that took the lock
/// where that is gone by a tail call. Keeps errno.
void charge_lock_wait(const volatile void* lock, std::uint64_t owed);

}  // namespace culprit::runtime
