#pragma once

#include "unwind/code_bytes.hpp"
#include "unwind/stack_bounds.hpp"

#include <cstdint>

namespace culprit::unwind {

/// Where the way begins.
struct WayStart {
  const CodeModule* module = nullptr;  ///< null: none is known
  std::uint64_t pc = 0, sp = 0, bp = 0;
  bool exact =
      true;  ///< pc is not a return address: the link register, where there is one, still holds its value
};

/// Where a function without call-frame information will find its return address and its caller's frame
/// pointer.
struct WayOut {
  std::uint64_t return_slot = 0;  ///< 0: in the link register
  std::uint64_t bp_slot = 0;      ///< 0: the frame pointer is the caller's
  std::uint64_t cfa = 0;          ///< the stack pointer behind the return
  bool uses_bp = false;           ///< the way depends on the value of the frame pointer
  bool uses_loads = false;        ///< or on a value that was loaded on the way
};

/// Follows the instructions from `from.pc` to the return (or a jump out of the function), keeping account of
/// stack and frame pointer (and the link register) alone: over calls, past conditional branches or, where
/// that leads nowhere, along the forward ones. False: no way was found within a bounded number of
/// instructions. Async-signal-safe.
bool find_way_out(const WayStart& from, StackBounds& bounds, bool take_branches, WayOut& way) noexcept;

}  // namespace culprit::unwind
