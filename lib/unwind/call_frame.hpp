#pragma once

#include "machine/machine.hpp"
#include "unwind/code_bytes.hpp"

#include <cstdint>

// Call-frame information (.eh_frame): finds the description that covers a code address through
// .eh_frame_hdr's binary search table and runs its instructions up to that address. Sources: System V ABI for
// x86-64 4.2.4, DWARF for the Arm 64-bit architecture, LSB core 10.6, DWARF 5 section 6.4. Every read stays
// inside the module's mapping; async-signal-safe. The rules of either processor can be read on either
// (call_frame_program.hpp, rule_reduction.hpp): only that of this one is compiled here.
namespace culprit::unwind {

/// How a register's value in the caller is found.
enum class RegisterHow : std::uint8_t {
  unspecified,    ///< no rule was given
  undefined,      ///< cannot be recovered; for the return address: the thread's first frame
  same,           ///< unchanged
  at_offset,      ///< saved at CFA + value
  is_offset,      ///< equals CFA + value
  in_register,    ///< in register number value
  at_expression,  ///< saved at the address that the DWARF expression at `value` computes
  is_expression,  ///< the value that the DWARF expression at `value` computes
};

struct RegisterRule {
  std::int64_t value = 0;  ///< by `how`; for expressions the address of the block (its ULEB128 length first)
  RegisterHow how = RegisterHow::unspecified;
};

/// One row of the unwind table: the rules that hold at one code address.
template <typename Machine>
struct RowOf {
  RegisterRule cfa;  ///< in_register (register number in cfa_register, offset in value) or is_expression
  std::uint8_t cfa_register = 0;
  bool signed_return = false;  ///< the return address carries a signature
  RegisterRule registers[Machine::kRegisterCount];
};
using Row = RowOf<machine::This>;

/// A frame description entry together with what its common entry says.
struct FrameDescription {
  std::uint64_t code_begin = 0, code_end = 0;
  std::uint64_t initial_begin = 0, initial_end = 0;  ///< the common entry's instructions
  std::uint64_t begin = 0, end = 0;                  ///< the description's own instructions
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = -8;
  std::uint64_t return_register = 0;
  std::uint8_t pointer_encoding = 0;
  bool augmented = false;  ///< entries carry augmentation data
  bool signal_frame = false;
};

/// Working memory for row_at(): too large for a signal handler's stack. The result is `row`.
template <typename Machine>
struct RowWorkspaceOf {
  static constexpr unsigned kRemembered = 8;  ///< nesting of DW_CFA_remember_state that is followed
  /// From the innermost outwards: what few functions need lies first, beside none of what all need.
  RowOf<Machine> remembered[kRemembered];
  RowOf<Machine> initial;
  RowOf<Machine> row;

  RowOf<Machine>& remembered_at(unsigned depth) noexcept { return remembered[kRemembered - 1 - depth]; }
};
using RowWorkspace = RowWorkspaceOf<machine::This>;

/// Finds the description of the function that contains `pc`. False: there is none, or the table is damaged.
bool find_description(const CodeModule& module, std::uint64_t pc, FrameDescription& description) noexcept;

/// Parses the frame description entry at run-time address `fde`. False when it makes no sense.
bool parse_description(const CodeModule& module, std::uint64_t fde, FrameDescription& description) noexcept;

/// Runs the instructions up to `pc`; the rules are left in workspace.row. False when they make no sense.
template <typename Machine>
bool row_at(const CodeModule& module, const FrameDescription& description, std::uint64_t pc,
            RowWorkspaceOf<Machine>& workspace) noexcept;

}  // namespace culprit::unwind
