#pragma once

#include "runtime/api.hpp"

#include <atomic>
#include <cstdint>

namespace culprit::runtime {

/// Tells the thread's signal handler, while it lives, that the thread is inside a call that may wait, whose
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
    outermost_ = thread.marked_below <= here;
    if (!outermost_) return;
    thread.marked_below = 0;
    std::atomic_signal_fence(std::memory_order_release);
    thread.mark = kind;
    thread.call = reinterpret_cast<std::uintptr_t>(function);
    std::atomic_signal_fence(std::memory_order_release);
    thread.marked_below = here;
  }
  ~CallMark() {
    if (culprit_rt_thread.parked) [[unlikely]]
      culprit_rt_unpark();
    if (outermost_) culprit_rt_thread.marked_below = 0;
  }
  CallMark(const CallMark&) = delete;
  CallMark& operator=(const CallMark&) = delete;

  [[nodiscard]] bool outermost() const { return outermost_; }
  void change(Kind kind) const {
    if (outermost_) culprit_rt_thread.mark = kind;
  }

 private:
  bool outermost_;
};

}  // namespace culprit::runtime
