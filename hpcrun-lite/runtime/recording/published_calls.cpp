// Publishes the locks that threads wait for, beside the calls that the MPI wrappers publish, in a block of
// the measurement. A place is claimed by its thread; while it is written, its number of changes is odd, so
// that a reader notices (a sequence lock). The flusher thread reads who owns a lock, through the kernel,
// since the lock's memory may be gone.
#include "runtime/recording/published_calls.hpp"

#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/system_calls.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): it is constant-initialized
constinit std::atomic<culprit::measurement::calls::Calls*> culprit_rt_published_calls{nullptr};

namespace culprit::runtime {
namespace {

namespace calls = measurement::calls;

// A thread makes the block, or has made it, or it is not to be made.
std::atomic<bool> making{false};

std::uint64_t own_id() {
  return static_cast<std::uint64_t>(this_thread()->tid);
}

/// Takes the first free one of some places, whose first word names the thread; null: there is none.
template <typename Place, std::size_t kCount>
Place* take(Place (&places)[kCount], std::uint64_t Place::*thread, std::size_t first) {
  for (std::size_t i = 0; i < kCount; ++i) {
    Place& place = places[(first + i) % kCount];
    std::uint64_t free = 0;
    if (calls::load(place.*thread) == 0 &&
        std::atomic_ref(place.*thread).compare_exchange_strong(free, own_id(), std::memory_order_acq_rel))
      return &place;
  }
  return nullptr;
}

/// Where the calling thread's wait goes; null: nowhere.
calls::LockWait* place_of_wait() {
  if (this_thread() == nullptr || !own_memory()) return nullptr;
  calls::Calls* block = culprit_rt_published_calls.load(std::memory_order_acquire);
  if (block == nullptr) {
    make_place_of_published_calls();
    block = culprit_rt_published_calls.load(std::memory_order_acquire);
  }
  if (block == nullptr) return nullptr;
  if (calls::LockWait* left_behind = culprit_rt_thread.lock_wait) return left_behind;
  return take(block->lock_wait, &calls::LockWait::thread, static_cast<std::size_t>(own_id()));
}

}  // namespace

// Who discards or seals the file waits for those that record: so it stays what it is meanwhile.
void make_place_of_published_calls() {
  if (!process.active || control.off.load(std::memory_order_relaxed) || !file.open()) return;
  if (making.load(std::memory_order_relaxed)) return;
  const int saved_errno = errno;
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  Thread* const thread = this_thread();
  if (thread == nullptr || begin_recording(thread)) {
    if (file.open() && !making.exchange(true, std::memory_order_acquire)) {
      if (calls::Calls* made = file.add_calls())
        culprit_rt_published_calls.store(made, std::memory_order_release);
    }
    if (thread != nullptr) end_recording(thread);
  }
  change_mask(SIG_SETMASK, before);
  errno = saved_errno;
}

// The mutex may be gone by now: the kernel says so, where a load would end the process.
void look_at_owners() {
  calls::Calls* const block = culprit_rt_published_calls.load(std::memory_order_acquire);
  if (block == nullptr) return;
  for (calls::LockWait& wait : block->lock_wait) {
    const std::uint64_t changes = calls::load(wait.changes);
    const std::uint64_t at = calls::load(wait.owner_at);
    if (calls::load(wait.thread) == 0 || at == 0 || changes % 2 != 0) continue;
    std::uint32_t owner = 0;
    if (copy_value(at, owner) && calls::load(wait.changes) == changes)
      calls::store(wait.owner, std::uint64_t{owner});
  }
}

void forget_published_calls(bool for_good) {
  culprit_rt_published_calls.store(nullptr, std::memory_order_release);
  making.store(for_good, std::memory_order_release);
  culprit_rt_thread.published = nullptr;
  culprit_rt_thread.lock_wait = nullptr;
}

bool calls_in_progress() {
  calls::Calls* const block = culprit_rt_published_calls.load(std::memory_order_acquire);
  if (block == nullptr) return false;
  return std::ranges::any_of(block->call, [](calls::Call& call) {
    return calls::load(call.tid) != 0 && calls::load(call.entered) != calls::load(call.left);
  });
}

void give_back_places() {
  if (calls::Call* call = culprit_rt_thread.published) {
    culprit_rt_thread.published = nullptr;
    calls::store(call->left, calls::load(call->entered));
    if (calls::Calls* const all = culprit_rt_published_calls.load(std::memory_order_relaxed);
        all != nullptr && calls::load(call->messages_noted) != 0)
      std::atomic_ref(all->threads_gone).fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref(call->tid).store(0, std::memory_order_release);
  }
  if (calls::LockWait* wait = culprit_rt_thread.lock_wait) {
    culprit_rt_thread.lock_wait = nullptr;
    std::atomic_ref(wait->thread).store(0, std::memory_order_release);
  }
}

PublishedLockWait::PublishedLockWait(const AwaitedLock& lock) : wait_(place_of_wait()) {
  if (wait_ == nullptr) return;
  calls::store(wait_->changes, calls::load(wait_->changes) | 1);
  std::atomic_thread_fence(std::memory_order_release);
  calls::store(wait_->lock, lock.address);
  calls::store(wait_->owner, lock.owner);
  calls::store(wait_->owner_at, lock.owner_at);
  calls::store(wait_->since, std::uint64_t{0});
  calls::store(wait_->node, measurement::kNoNodeIndex);
  std::atomic_ref(wait_->changes).store(calls::load(wait_->changes) + 1, std::memory_order_release);
  culprit_rt_thread.lock_wait = wait_;
}

PublishedLockWait::~PublishedLockWait() {
  // A handler of the program's that waited for a lock meanwhile had the place, and gave it back.
  if (wait_ == nullptr || culprit_rt_thread.lock_wait != wait_) return;
  culprit_rt_thread.lock_wait = nullptr;
  std::atomic_ref(wait_->thread).store(0, std::memory_order_release);
}

}  // namespace culprit::runtime
