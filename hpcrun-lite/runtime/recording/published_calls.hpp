#pragma once

#include "measurement/live.hpp"
#include "runtime/api.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/clock.hpp"

#include <cstdint>

// What threads publish of the calls that they are in, in a block of the measurement
// (measurement/published_calls_layout.hpp): who looks at it, now or after a kill, sees who waits for whom.
// Plain stores throughout.
namespace culprit::runtime {

/// Makes the block, once, where the measurement has a file. Async-signal-safe; any thread.
void make_place_of_published_calls();

/// From now on nothing is published in it: the file is not ours any more, or, `for_good`, not wanted.
/// Async-signal-safe.
void forget_published_calls(bool for_good);

/// Brings up to date who holds the locks that threads wait for. By the flusher thread, at each of its turns.
void look_at_owners();

/// Whether a thread is in an MPI call that waits. Any thread.
bool calls_in_progress();

/// The calling thread ends: others may have its places.
void give_back_places();

/// A sample of the calling thread was taken at `node`, at `time` of the sampling clock: what it is in since
/// when, and where. From the handler.
inline void note_place(const Thread& thread, measurement::NodeIndex node, std::uint64_t time) {
  namespace calls = measurement::calls;
  calls::Call* const call = culprit_rt_thread.published;
  calls::LockWait* const wait = culprit_rt_thread.lock_wait;
  if (call == nullptr && wait == nullptr) [[likely]]
    return;
  const std::uint64_t now = monotonic_time(time);
  if (call != nullptr) {
    const std::uint64_t over = calls::load(call->left) == calls::load(call->entered) ? 1 : 0;
    const std::uint64_t state = 2 * calls::load(call->entered) + over;
    if (calls::load(call->seen) != state) {
      calls::store(call->since, now);
      calls::store(call->seen, state);
    }
    calls::store(call->tree, thread.tree->index());
    calls::store(call->node, node);
    calls::store(call->sampled, now);
  }
  if (wait != nullptr) {
    if (calls::load(wait->since) == 0) calls::store(wait->since, now);
    calls::store(wait->tree, thread.tree->index());
    calls::store(wait->node, node);
    calls::store(wait->sampled, now);
  }
}

/// A lock that is not free.
struct AwaitedLock {
  std::uint64_t address;
  std::uint64_t owner;     ///< thread id; 0: unknown
  std::uint64_t owner_at;  ///< address of the word that it was read from; 0: there is none
};

/// The calling thread waits for a lock while this lives. What a longjmp or a cancellation leaves behind is
/// used again by the thread's next one.
class PublishedLockWait {
 public:
  explicit PublishedLockWait(const AwaitedLock& lock);
  ~PublishedLockWait();
  PublishedLockWait(const PublishedLockWait&) = delete;
  PublishedLockWait& operator=(const PublishedLockWait&) = delete;

 private:
  measurement::calls::LockWait* wait_;
};

}  // namespace culprit::runtime
