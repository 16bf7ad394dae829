#pragma once

#include "unwind/code_bytes.hpp"
#include "unwind/stack_bounds.hpp"

#include <cstdint>

// Stepping out of code that has no call-frame information: some linkers' PLT stubs, a program's _init and
// _fini, hand-written or generated code. Async-signal-safe.
namespace culprit::unwind {

/// A step that a fallback proposes.
struct Bridge {
  std::uint64_t return_slot = 0;  ///< 0: the return address is in the link register
  std::uint64_t bp_slot = 0;      ///< 0: the frame pointer is unchanged
  std::uint64_t cfa = 0;
  bool uses_bp = false;  ///< depends on the frame pointer
  bool opaque = false;   ///< depends on memory beyond these slots
};

/// Where the fallback starts from.
struct BridgeStart {
  const CodeModule* module = nullptr;  ///< that maps pc; null: none is known
  std::uint64_t pc = 0, sp = 0, bp = 0;
  std::uint64_t link = 0;  ///< the link register, where there is one
  bool exact = false;      ///< pc is not a return address
};

/// Proposes a step: by the shape of a PLT stub, then by following the code to its return, then along the
/// frame-pointer chain. A return address is believed when it is 0 or follows a call instruction. False:
/// nothing plausible.
bool bridge_frame(const BridgeStart& start, FindModule find, void* context, StackBounds& bounds,
                  Bridge& bridge) noexcept;

/// True if `address` follows a call instruction in a module that `find` knows.
bool is_return_address(std::uint64_t address, FindModule find, void* context) noexcept;

}  // namespace culprit::unwind

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
