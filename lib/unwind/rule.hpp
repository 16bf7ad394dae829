#pragma once

#include "unwind/call_frame.hpp"

#include <cstdint>

// A row of the unwind table in 24 bytes: what the walker needs to step out of one frame.
namespace culprit::unwind {

/// How a rule is applied; the common forms first.
enum class RuleForm : std::uint8_t {
  sp_frame,  ///< CFA = stack pointer + offset; return address at CFA - 8 (where the processor puts none
             ///< there: below the CFA), saved registers at negative offsets from the CFA
  bp_frame,  ///< the same with the frame pointer
  bx_frame,  ///< the same with the third register
  compact,   ///< any other rule that fits: see the fields
  general,   ///< only the row itself can say: to be interpreted again at each use
  root,      ///< the return address is undefined: the thread's first frame
  none,      ///< no call-frame information
};

/// What a saved slot's address is relative to.
enum class SlotBase : std::uint8_t { cfa, sp, bp, bx };

/// The compact rule. Offsets of slots are in units of 8 bytes from their base.
struct Rule {
  static constexpr std::int16_t kUnchanged = INT16_MIN;  ///< the register was not saved
  static constexpr unsigned kSaved = machine::This::kSaved;
  static constexpr std::uint8_t kNoModule = 255;

  std::int32_t cfa_offset = 0;
  std::int16_t cfa_addend = 0;    ///< added to what was loaded where `cfa_loaded`
  std::int16_t return_slot = -1;  ///< kUnchanged: in the third register, of who was interrupted
  std::int16_t saved[kSaved] = {kUnchanged, kUnchanged, kUnchanged, kUnchanged, kUnchanged, kUnchanged};
  RuleForm form = RuleForm::none;
  std::uint8_t cfa_register = machine::This::kStackPointer;  ///< DWARF number
  SlotBase saved_base : 2 = SlotBase::cfa;
  SlotBase return_base : 2 = SlotBase::cfa;
  bool cfa_loaded : 1 = false;    ///< CFA = *(register + cfa_offset) + cfa_addend
  bool signal_frame : 1 = false;  ///< the caller was interrupted: its pc is exact
  /// Form none, but a function begins at the next byte. A return address there is no call's: the stack was
  /// made by hand to start in that function (makecontext), which is the first frame.
  bool before_function : 1 = false;
  bool signed_return : 1 = false;   ///< the return address carries a signature
  std::uint8_t module = kNoModule;  ///< the rule cache's number for the module
};

/// Reduces a row to a rule; `limit` bounds its expressions (the description's end). Async-signal-safe.
template <typename Machine>
Rule reduce_row(const RowOf<Machine>& row, const FrameDescription& description, std::uint64_t limit,
                std::uint64_t pc) noexcept;

/// The rule at code address `pc` of `module`; of form none where there is no usable information.
/// Async-signal-safe.
template <typename Machine>
Rule compile_rule(const CodeModule& module, std::uint64_t pc, RowWorkspaceOf<Machine>& workspace) noexcept;

}  // namespace culprit::unwind
