// Steps out of a frame by the row itself, where no compact rule can express it (docs/algorithms.md 14): all
// registers are followed, and those that a call need not preserve are forgotten. Rare and slow.
#include "unwind/general_step.hpp"

#include "unwind/byte_cursor.hpp"
#include "unwind/expression.hpp"

namespace culprit::unwind {

namespace {

// Computes with the registers of one frame; loads within the stack's bounds, or where the kernel says it may.
class ConcreteInput final : public ExpressionInput {
 public:
  ConcreteInput(const RegisterFile& file, StackBounds& bounds) noexcept
      : file_(file), bounds_(bounds), floor_(bounds.floor(file.values[machine::This::kStackPointer])) {}

  bool read_register(std::uint64_t number, ExpressionValue& value) noexcept override {
    value = {};
    return file_.get(number, value.amount);
  }

  bool load(const ExpressionValue& address, unsigned size, ExpressionValue& value) noexcept override {
    value = {};
    return load_bytes(address.amount, size, value.amount);
  }

  bool load_bytes(std::uint64_t address, unsigned size, std::uint64_t& value) noexcept {
    if (!bounds_.contains(address) || !bounds_.readable(address, floor_)) {
      const std::uint64_t last = address + size - 1;
      if (last < address || !bounds_.verify(address) || !bounds_.verify(last)) return false;
    }
    switch (size) {
      case 1:
        value = load_as<std::uint8_t>(address);
        break;
      case 2:
        value = load_as<std::uint16_t>(address);
        break;
      case 4:
        value = load_as<std::uint32_t>(address);
        break;
      default:
        value = load_as<std::uint64_t>(address);
        break;
    }
    return true;
  }

 private:
  const RegisterFile& file_;
  StackBounds& bounds_;
  std::uint64_t floor_;
};

class Interpretation {
 public:
  Interpretation(const Row& row, std::uint64_t limit, const RegisterFile& file, StackBounds& bounds) noexcept
      : row_(row), limit_(limit), file_(file), input_(file, bounds) {}

  bool find_cfa() noexcept {
    if (row_.cfa.how == RegisterHow::is_expression) return evaluate(row_.cfa, nullptr, cfa_);
    if (!file_.get(row_.cfa_register, cfa_)) return false;
    cfa_ += static_cast<std::uint64_t>(row_.cfa.value);
    return true;
  }

  [[nodiscard]] std::uint64_t cfa() const noexcept { return cfa_; }

  /// The caller's value by `rule`.
  bool recover(const RegisterRule& rule, std::uint64_t& value) noexcept {
    const std::uint64_t offset = cfa_ + static_cast<std::uint64_t>(rule.value);
    const ExpressionValue initial{.amount = cfa_};
    std::uint64_t address = 0;
    switch (rule.how) {
      case RegisterHow::at_offset:
        return input_.load_bytes(offset, 8, value);
      case RegisterHow::is_offset:
        value = offset;
        return true;
      case RegisterHow::in_register:
        return file_.get(static_cast<std::uint64_t>(rule.value), value);
      case RegisterHow::at_expression:
        return evaluate(rule, &initial, address) && input_.load_bytes(address, 8, value);
      case RegisterHow::is_expression:
        return evaluate(rule, &initial, value);
      default:
        return false;
    }
  }

 private:
  bool evaluate(const RegisterRule& rule, const ExpressionValue* initial, std::uint64_t& number) noexcept {
    ExpressionValue result;
    if (!evaluate_expression(static_cast<std::uint64_t>(rule.value), limit_, initial, input_, result))
      return false;
    number = result.amount;
    return true;
  }

  const Row& row_;
  std::uint64_t limit_;
  const RegisterFile& file_;
  ConcreteInput input_;
  std::uint64_t cfa_ = 0;
};

bool is_given(const RegisterRule& rule) noexcept {
  return rule.how != RegisterHow::unspecified && rule.how != RegisterHow::same;
}

}  // namespace

void RegisterFile::set_all(const void* ucontext) noexcept {
  known = 0;
  if (ucontext == nullptr) return;
  std::uint8_t number = 0;
  machine::each_interrupted_register(ucontext, [&](std::uint64_t value) { set(number++, value); });
}

bool interpret_row(const Row& row, const FrameDescription& description, std::uint64_t limit,
                   StackBounds& bounds, RegisterFile& file) noexcept {
  using Machine = machine::This;
  Interpretation interpretation(row, limit, file, bounds);
  if (!interpretation.find_cfa()) return false;
  RegisterFile caller = file;
  if (!description.signal_frame) caller.forget_volatile();
  for (std::uint8_t i = 0; i < Machine::kProgramCounter; ++i) {
    const RegisterRule& rule = row.registers[i];
    if (!is_given(rule)) continue;
    std::uint64_t value = 0;
    if (interpretation.recover(rule, value)) {
      caller.set(i, value);
    } else {
      caller.known &= ~(std::uint64_t{1} << i);
    }
  }
  std::uint64_t back = 0;
  const RegisterRule& return_rule = row.registers[description.return_register];
  if (Machine::kReturnsByRegister && !is_given(return_rule)) {
    if (!file.get(description.return_register, back)) return false;
  } else if (!interpretation.recover(return_rule, back)) {
    return false;
  }
  if (!is_given(row.registers[Machine::kStackPointer])) {
    // As in rules: a return address above the CFA is still the callee's (rule_reduction.hpp).
    const bool above =
        Machine::kReturnsByRegister && return_rule.how == RegisterHow::at_offset && return_rule.value >= 0;
    const std::int64_t raised = above ? return_rule.value + 8 : 0;
    caller.set(Machine::kStackPointer, interpretation.cfa() + static_cast<std::uint64_t>(raised));
  }
  caller.set(Machine::kProgramCounter, row.signed_return ? back & Machine::kAddressMask : back);
  file = caller;
  return caller.known >> Machine::kStackPointer & 1U;
}

}  // namespace culprit::unwind
