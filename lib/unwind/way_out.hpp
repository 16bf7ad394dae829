#pragma once

#include "unwind/code_bytes.hpp"
#include "unwind/stack_bounds.hpp"

#include <cstdint>

namespace culprit::unwind {

/// Where the way begins.
struct WayStart {
  const CodeModule* module = nullptr;  ///< null: none is known
  std::uint64_t pc = 0, sp = 0, bp = 0;
};

/// Where a function without call-frame information will find its return address and its caller's rbp.
struct WayOut {
  std::uint64_t return_slot = 0;
  std::uint64_t bp_slot = 0;  ///< 0: rbp is the caller's
  bool uses_bp = false;       ///< the way depends on the value of rbp
  bool uses_loads = false;    ///< or on a value that was loaded on the way
};

/// Follows the instructions from `from.pc` to the return (or a jump out of the function), keeping account of
/// rsp and rbp alone: over calls, past conditional branches or, where that leads nowhere, along the forward
/// ones. False: no way was found within a bounded number of instructions. Async-signal-safe.
bool find_way_out(const WayStart& from, StackBounds& bounds, bool take_branches, WayOut& way) noexcept;

}  // namespace culprit::unwind
