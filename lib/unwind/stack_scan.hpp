#pragma once

#include "unwind/bridge.hpp"

#include <cstdint>

namespace culprit::unwind {

/// Whether a walk from return address `pc` with stack pointer `sp` outwards reaches the thread's first frame.
class OnwardWalk {
 public:
  virtual bool reaches_root(std::uint64_t pc, std::uint64_t sp) noexcept = 0;

 protected:
  ~OnwardWalk() = default;
};

/// The last resort: the nearest word on the stack that is a return address from which the walk goes on to the
/// root. What earlier calls have left on the stack is distinguished where the call instruction names its
/// target: that must be the code at start.pc. Async-signal-safe.
bool scan_stack(const BridgeStart& start, FindModule find, void* context, StackBounds& bounds,
                OnwardWalk& onward, Bridge& bridge) noexcept;

}  // namespace culprit::unwind
