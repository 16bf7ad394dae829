#pragma once

#include "unwind/call_frame.hpp"
#include "unwind/stack_bounds.hpp"

#include <cstdint>

// Stepping by the row itself, for what compact rules cannot express. Slow (the row is interpreted anew each
// time), rare, and async-signal-safe.
namespace culprit::unwind {

/// All registers of a frame, by DWARF number, with a mask of those that are known.
struct RegisterFile {
  using Machine = machine::This;

  std::uint64_t values[Machine::kRegisterCount];
  std::uint64_t known;

  /// Everything is known, as in a frame that was interrupted: the registers of a ucontext_t. Null: nothing
  /// is.
  void set_all(const void* ucontext) noexcept;
  void set(std::uint8_t number, std::uint64_t value) noexcept {
    values[number] = value;
    known |= std::uint64_t{1} << number;
  }
  [[nodiscard]] bool get(std::uint64_t number, std::uint64_t& value) const noexcept {
    if (number >= Machine::kRegisterCount || (known >> number & 1U) == 0) return false;
    value = values[number];
    return true;
  }
  /// A call is over: what it need not preserve is unknown from now on.
  void forget_volatile() noexcept { known &= Machine::kPreserved; }
};

/// Computes the caller's registers from those in `file` (which must hold sp, bp, bx and the pc) by `row`. On
/// success `file` holds the caller's, with sp = CFA, and the pc under kProgramCounter. Expressions end before
/// `limit`. False: a value that the row needs is unknown or unreadable.
bool interpret_row(const Row& row, const FrameDescription& description, std::uint64_t limit,
                   StackBounds& bounds, RegisterFile& file) noexcept;

}  // namespace culprit::unwind
