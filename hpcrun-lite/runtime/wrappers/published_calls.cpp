// What the MPI wrappers ask for to publish the calls that threads are in.
#include "runtime/recording/published_calls.hpp"

#include "runtime/api.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/system/backoff.hpp"

#include <atomic>
#include <csignal>

namespace calls = culprit::measurement::calls;

void culprit_rt_publish_calls() {
  using namespace culprit::runtime;
  if (!process.active || control.off.load(std::memory_order_relaxed)) return;
  // Another thread may be creating the file, or the flusher thread has to.
  constexpr int kPauses = 5000;
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  Backoff backoff;
  for (int i = 0; i < kPauses && !recording_refused() && !ensure_file(); ++i) backoff.pause();
  if (!recording_refused()) make_place_of_published_calls();
  change_mask(SIG_SETMASK, before);
}

calls::Call* culprit_rt_place_of_published_calls() {
  using namespace culprit::runtime;
  calls::Calls* const block = culprit_rt_published_calls.load(std::memory_order_acquire);
  const Thread* const thread = this_thread();
  if (block == nullptr || thread == nullptr || !own_memory()) return nullptr;
  for (calls::Call& call : block->call) {
    std::uint64_t free = 0;
    if (!std::atomic_ref(call.tid).compare_exchange_strong(free, static_cast<std::uint64_t>(thread->tid),
                                                           std::memory_order_acq_rel))
      continue;
    for (calls::HeldLock& lock : call.lock) calls::store(lock.window, std::uint64_t{0});
    calls::store(call.messages_noted, std::uint64_t{0});
    calls::store(call.node, culprit::measurement::kNoNodeIndex);
    culprit_rt_thread.published = &call;
    return &call;
  }
  std::atomic_ref(block->threads_lost).fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}
