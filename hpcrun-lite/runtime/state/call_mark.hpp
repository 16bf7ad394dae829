#pragma once

#include "runtime/api.hpp"

#include <atomic>
#include <cstdint>

namespace culprit::runtime {

/// Whether code at `here` on the calling thread's stack is in no marked call: there is no mark, or a jump
/// left it behind. Async-signal-safe.
inline bool is_outside_of_marks(std::uintptr_t here) {
  const std::uintptr_t mark = culprit_rt_thread.marked_below;
  return mark == 0 || (mark <= here && culprit_rt_left_behind(here));
}

/// While it lives, it marks for the signal handler that the thread is inside a call that may wait, whose
/// function stands in call paths for the wrapper's own frame: libraries leave some calls by a jump, and their
/// frame is gone while they wait. Calls within calls (the Fortran bindings over C, PMPI under a tool, the
/// library over itself, its locks) count as the outermost one. A mark that a longjmp or a cancelled thread
/// left behind counts no more (call_path.hpp), and is overwritten. Whoever comes by here runs: a wait in
/// which the thread was parked is over. Async-signal-safe; a few stores.
class CallMark {
 public:
  /// As culprit::measurement::WaitKind (call_path.cpp compares them).
  enum Kind : std::uint8_t { work = 0, waiting = 1, lock = 4, condition = 5, join = 6 };

  CallMark(Kind kind, const void* function) {
    CulpritThread& thread = culprit_rt_thread;
    if (thread.parked) [[unlikely]]
      culprit_rt_unpark();
    const auto here = reinterpret_cast<std::uintptr_t>(this);
    outermost_ = is_outside_of_marks(here);
    if (!outermost_) return;
    thread.marked_below = 0;
    std::atomic_signal_fence(std::memory_order_release);
    thread.mark = kind;
    thread.call = reinterpret_cast<std::uintptr_t>(function);
    std::atomic_signal_fence(std::memory_order_release);
    thread.marked_below = here;
    if (thread.counted) around_ = culprit_rt_begin_wait(kind);
  }
  ~CallMark() {
    if (culprit_rt_thread.parked) [[unlikely]]
      culprit_rt_unpark();
    if (!outermost_) return;
    culprit_rt_thread.marked_below = 0;
    if (around_ != kNotCounted) culprit_rt_end_wait(around_);
  }
  CallMark(const CallMark&) = delete;
  CallMark& operator=(const CallMark&) = delete;

  [[nodiscard]] bool outermost() const { return outermost_; }
  void change(Kind kind) const {
    if (!outermost_) return;
    culprit_rt_thread.mark = kind;
    if (around_ == kNotCounted) return;
    culprit_rt_end_wait(around_);
    static_cast<void>(culprit_rt_begin_wait(kind));
  }

 private:
  static constexpr std::uint8_t kNotCounted = 0xff;
  bool outermost_;
  std::uint8_t around_ = kNotCounted;  ///< what the thread did before, for the accounts
};

/// In an interposed function that has no CallMark, whose caller's frame begins at `frame`: a mark that lies
/// deeper was left behind by a cancellation or a longjmp, and is not to be taken for one in its frame.
inline void forget_left_marks(const void* frame) {
  CulpritThread& thread = culprit_rt_thread;
  const auto here = reinterpret_cast<std::uintptr_t>(frame);
  if (thread.marked_below != 0 && thread.marked_below < here && culprit_rt_left_behind(here)) [[unlikely]]
    thread.marked_below = 0;
}

}  // namespace culprit::runtime
