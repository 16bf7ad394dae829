#include "runtime/recording/announced_abort.hpp"

#include "runtime/recording/flusher.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

#include <cerrno>
#include <csignal>

namespace culprit::runtime {

void announce_abort(std::uintptr_t frame) {
  if (this_thread() == nullptr || process.ended.load(std::memory_order_acquire) || !file.open()) return;
  const int saved_errno = errno;
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  hold_flusher();
  file.keep(measurement::EndReason::abort, now());
  release_flusher();
  culprit_rt_thread.aborts_below = frame;
  change_mask(SIG_SETMASK, before);
  errno = saved_errno;
}

void take_abort_back() {
  culprit_rt_thread.aborts_below = 0;
  if (!process.ended.load(std::memory_order_acquire)) file.resume();
}

bool is_aborting(std::uintptr_t stack) {
  const std::uintptr_t below = culprit_rt_thread.aborts_below;
  const Thread* const thread = this_thread();
  if (below == 0 || thread == nullptr) return false;
  return stack <= below || stack >= thread->regions.stack_high;
}

}  // namespace culprit::runtime
