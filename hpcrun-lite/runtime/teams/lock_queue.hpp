#pragma once

#include "runtime/teams/level.hpp"

#include <cstddef>
#include <cstdint>

// Directed blame (docs/algorithms.md 12): who gives a lock back bears what others have waited for it since it
// was given back the last time. Kept for each lock that somebody waits for, in 16 bytes: how many wait, the
// sum of the times since when, and when somebody was last charged. Lock-free and async-signal-safe; times are
// the sampling clock's, in ns.
namespace culprit::runtime::locks {

/// A thread in a queue.
struct Waiter {
  std::uint16_t slot = 0;
  bool queued = false;  ///< false: there was no place; nobody bears the wait
  std::uint64_t since = 0;
};

/// Whether anybody waits for any lock. One load: all that giving a lock back costs where nobody does.
[[nodiscard]] bool anybody_waits();

/// Whether somebody waits for `lock`, or may: what is left of waits may be owed yet. A few loads.
[[nodiscard]] bool is_awaited(const void* lock);

/// The thread waits for `lock` from `time` on.
Waiter enter(const void* lock, std::uint64_t time);
/// It waits no more. Returns what it has waited that nobody bears: since the lock was given back the last
/// time, where it has the lock now. Where it gave up (`acquired` false), the holder will bear it; but of the
/// last waiter nobody is reminded: it returns all that is left.
std::uint64_t leave(const Waiter& waiter, std::uint64_t time, bool acquired);
/// The lock is about to be given back by thread `by` (null: unknown): what others have waited for it, of
/// which the caller bears one part in `holders`, and those who hold it with him the rest.
std::uint64_t charge(const void* lock, std::uint64_t time, std::uint64_t holders, const void* by = nullptr);

/// A thread gave a lock back that others waited for.
struct Release {
  std::uint64_t time = 0;
  const void* by = nullptr;  ///< null: unknown, also where too many did up to then
};
/// Those of one wait, the earliest first. One thread's that follow each other are one.
struct Releases {
  static constexpr std::uint32_t kMost = 7;  ///< the latest; with their count two cache lines for each lock
  Release of[kMost];
  std::size_t count = 0;
};
/// Who gave the lock back since the waiter came. To be called between having the lock and leave().
Releases releases_since(const Waiter& waiter);

/// Locks that do not say whether they are free: how many threads hold or want each (or one of the same hash).
/// Returns how many did before the caller.
std::uint32_t want(const void* lock);
void unwant(const void* lock);

/// In a forked child, and for tests.
void forget();

}  // namespace culprit::runtime::locks
