#pragma once

#include "unwind/expression.hpp"
#include "unwind/rule.hpp"

// Reduces a row of call-frame information to a rule of 24 bytes (docs/algorithms.md 14): CFA = register +
// offset, perhaps loaded, and slots of the return address and of six registers. Expressions are folded
// symbolically (expression.hpp). What no rule can say has the form `general` and is interpreted at each use
// (general_step.hpp).

namespace culprit::unwind {

namespace rule_reduction {

using Form = ExpressionValue::Form;

constexpr std::int16_t kMostRaised = 16;  // words

/// Whether a rule says where a register was saved, or that it is lost.
inline bool is_given(const RegisterRule& rule) noexcept {
  return rule.how != RegisterHow::unspecified && rule.how != RegisterHow::same;
}

/// Where a register was saved: an offset in bytes from one base.
struct Slot {
  SlotBase base = SlotBase::cfa;
  std::int64_t offset = 0;
};

inline bool fits_slot(std::int64_t offset) noexcept {
  return offset % 8 == 0 && offset / 8 > Rule::kUnchanged && offset / 8 <= INT16_MAX;
}

template <typename Machine>
bool base_of(std::uint8_t number, SlotBase& base) noexcept {
  switch (number) {
    case Machine::kStackPointer:
      base = SlotBase::sp;
      return true;
    case Machine::kFramePointer:
      base = SlotBase::bp;
      return true;
    case Machine::kThirdRegister:
      base = SlotBase::bx;
      return true;
    default:
      return false;
  }
}

template <typename Machine>
class Reduction {
 public:
  Reduction(const RowOf<Machine>& row, std::uint64_t limit, std::uint64_t pc) noexcept
      : row_(row), limit_(limit), pc_(pc) {}

  /// False: the rule does not fit the compact form.
  bool reduce(std::uint64_t return_register) noexcept {
    if (!reduce_cfa()) return false;
    Slot slot;
    if (is_given(row_.registers[return_register])) {
      if (!locate(row_.registers[return_register], slot)) return false;
      rule_.return_base = slot.base;
      rule_.return_slot = static_cast<std::int16_t>(slot.offset / 8);
    } else {
      rule_.return_slot = Rule::kUnchanged;
    }
    rule_.signed_return = row_.signed_return;
    bool any = false;
    for (unsigned i = 0; i < Machine::kSaved; ++i) {
      const RegisterRule& saved = row_.registers[Machine::kSavedRegisters[i]];
      if (saved.how == RegisterHow::unspecified || saved.how == RegisterHow::same ||
          saved.how == RegisterHow::undefined)
        continue;
      if (!locate(saved, slot) || (any && slot.base != rule_.saved_base)) return false;
      any = true;
      rule_.saved_base = slot.base;
      rule_.saved[i] = static_cast<std::int16_t>(slot.offset / 8);
    }
    if (Machine::kReturnsByRegister) raise_cfa();
    rule_.form = form();
    return true;
  }

  [[nodiscard]] const Rule& rule() const noexcept { return rule_; }

 private:
  bool reduce_cfa() noexcept {
    std::int64_t offset = row_.cfa.value;
    rule_.cfa_register = row_.cfa_register;
    if (row_.cfa.how == RegisterHow::is_expression) {
      ExpressionValue value;
      if (!fold_expression(static_cast<std::uint64_t>(row_.cfa.value), limit_,
                           {pc_, Machine::kProgramCounter}, value))
        return false;
      if (value.form == Form::number) return false;
      rule_.cfa_register = value.base;
      rule_.cfa_loaded = value.form == Form::loaded_plus;
      const auto amount = static_cast<std::int64_t>(value.amount);
      offset = rule_.cfa_loaded ? value.inner : amount;
      if (rule_.cfa_loaded) {
        if (amount < INT16_MIN || amount > INT16_MAX) return false;
        rule_.cfa_addend = static_cast<std::int16_t>(amount);
      }
    }
    if (offset < INT32_MIN || offset > INT32_MAX) return false;
    rule_.cfa_offset = static_cast<std::int32_t>(offset);
    return true;
  }

  bool locate(const RegisterRule& saved, Slot& slot) noexcept {
    if (saved.how == RegisterHow::at_offset) {
      slot = {SlotBase::cfa, saved.value};
    } else if (saved.how == RegisterHow::at_expression) {
      ExpressionValue value;
      if (!fold_expression(static_cast<std::uint64_t>(saved.value), limit_, {pc_, Machine::kProgramCounter},
                           value) ||
          value.form != Form::register_plus || !base_of<Machine>(value.base, slot.base))
        return false;
      slot.offset = static_cast<std::int64_t>(value.amount);
    } else {
      return false;
    }
    return fits_slot(slot.offset);
  }

  /// glibc's _dl_runtime_resolve takes what the head of the PLT pushed for it (two words, the return address
  /// last) for its caller's: the return address lies above its CFA, which is in truth just above that.
  void raise_cfa() noexcept {
    if (rule_.return_base != SlotBase::cfa || rule_.cfa_loaded || rule_.return_slot < 0) return;
    const auto words = static_cast<std::int16_t>(rule_.return_slot + 1);
    if (words > kMostRaised) return;
    rule_.cfa_offset += 8 * words;
    rule_.return_slot = -1;
    if (rule_.cfa_register == Machine::kStackPointer && rule_.cfa_offset <= 0)
      rule_.return_slot = Rule::kUnchanged;  // the last instruction: it was loaded
    if (rule_.saved_base != SlotBase::cfa) return;
    for (std::int16_t& saved : rule_.saved) {
      if (saved != Rule::kUnchanged) saved = static_cast<std::int16_t>(saved - words);
    }
  }

  [[nodiscard]] RuleForm form() const noexcept {
    const bool returns = rule_.return_slot < 0 && rule_.return_slot > Rule::kUnchanged &&
                         (rule_.return_slot == Machine::kReturnSlot || Machine::kReturnsByRegister);
    const bool plain = !rule_.cfa_loaded && rule_.return_base == SlotBase::cfa && returns &&
                       rule_.saved_base == SlotBase::cfa;
    bool below =
        true;  // a plain frame's slots lie below its return address, so that checking the CFA bounds them
    for (const std::int16_t saved : rule_.saved)
      below = below && saved < (Machine::kReturnsByRegister ? 0 : -1);
    if (!plain || !below) return RuleForm::compact;
    switch (rule_.cfa_register) {
      case Machine::kStackPointer:
        return RuleForm::sp_frame;
      case Machine::kFramePointer:
        return RuleForm::bp_frame;
      case Machine::kThirdRegister:
        return RuleForm::bx_frame;
      default:
        return RuleForm::compact;
    }
  }

  const RowOf<Machine>& row_;
  std::uint64_t limit_;
  std::uint64_t pc_;
  Rule rule_;
};

}  // namespace rule_reduction

template <typename Machine>
Rule reduce_row(const RowOf<Machine>& row, const FrameDescription& description, std::uint64_t limit,
                std::uint64_t pc) noexcept {
  Rule rule;
  const RegisterRule& return_rule = row.registers[description.return_register];
  if (return_rule.how == RegisterHow::undefined) {
    rule.form = RuleForm::root;
  } else if (rule_reduction::is_given(return_rule) || Machine::kReturnsByRegister) {
    rule_reduction::Reduction<Machine> reduction(row, limit, pc);
    const bool fits = reduction.reduce(description.return_register);
    if (fits) rule = reduction.rule();
    if (!fits) rule.form = RuleForm::general;
  }
  rule.signal_frame = description.signal_frame;
  if (description.signal_frame && rule.form < RuleForm::compact) rule.form = RuleForm::compact;
  return rule;
}

template <typename Machine>
Rule compile_rule(const CodeModule& module, std::uint64_t pc, RowWorkspaceOf<Machine>& workspace) noexcept {
  FrameDescription description;
  Rule rule;
  if (find_description(module, pc, description)) {
    if (row_at(module, description, pc, workspace))
      rule = reduce_row(workspace.row, description, module.end, pc);
    // Of glibc's resolver (above), the first instruction alone is described as if nothing had been pushed.
    if (Machine::kReturnsByRegister && pc == description.code_begin && rule.return_slot == Rule::kUnchanged &&
        row_at(module, description, pc + description.code_alignment, workspace)) {
      const RegisterRule& next = workspace.row.registers[description.return_register];
      if (next.how == RegisterHow::at_offset && next.value == 8) rule.cfa_offset += 16;
    }
  } else {
    rule.before_function = find_description(module, pc + 1, description);
  }
  return rule;
}

}  // namespace culprit::unwind
