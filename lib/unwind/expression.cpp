// Evaluates DWARF expressions (DWARF 5, 2.5; docs/algorithms.md 14) on a bounded stack, in at most 256 steps.
// With registers left open it computes symbolically: most expressions in the wild come out as register +
// offset or *(register + offset) + offset, which rules express.
#include "unwind/expression.hpp"

#include "unwind/byte_cursor.hpp"
#include "unwind/call_frame.hpp"

namespace culprit::unwind {

namespace {

using Form = ExpressionValue::Form;

constexpr unsigned kStackSize = 16;
constexpr unsigned kMaxSteps = 256;

enum : std::uint8_t {
  kAddr = 0x03,
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstu = 0x10,
  kConsts = 0x11,
  kDup = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kPick = 0x15,
  kSwap = 0x16,
  kRot = 0x17,
  kAbs = 0x19,
  kAnd = 0x1a,
  kDiv = 0x1b,
  kMinus = 0x1c,
  kMod = 0x1d,
  kMul = 0x1e,
  kNeg = 0x1f,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShl = 0x24,
  kShr = 0x25,
  kShra = 0x26,
  kXor = 0x27,
  kBra = 0x28,
  kEq = 0x29,
  kGe = 0x2a,
  kGt = 0x2b,
  kLe = 0x2c,
  kLt = 0x2d,
  kNe = 0x2e,
  kSkip = 0x2f,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kBregx = 0x92,
  kDerefSize = 0x94,
  kNoOperation = 0x96,
};

std::uint64_t widen(std::int64_t value) noexcept {
  return static_cast<std::uint64_t>(value);
}

/// Both operands are numbers: the two-operand operations. False: unknown operation or division by zero.
bool combine_numbers(std::uint8_t operation, std::uint64_t a, std::uint64_t b,
                     std::uint64_t& result) noexcept {
  const auto sa = static_cast<std::int64_t>(a);
  const auto sb = static_cast<std::int64_t>(b);
  switch (operation) {
    case kAnd:
      result = a & b;
      return true;
    case kOr:
      result = a | b;
      return true;
    case kXor:
      result = a ^ b;
      return true;
    case kMul:
      result = a * b;
      return true;
    case kDiv:
      if (b == 0 || (sb == -1 && sa == INT64_MIN)) return false;
      result = widen(sa / sb);
      return true;
    case kMod:
      if (b == 0) return false;
      result = a % b;
      return true;
    case kShl:
      result = b < 64 ? a << b : 0;
      return true;
    case kShr:
      result = b < 64 ? a >> b : 0;
      return true;
    case kShra:
      result = widen(sa >> (b < 63 ? b : 63));
      return true;
    case kEq:
      result = a == b ? 1 : 0;
      return true;
    case kGe:
      result = sa >= sb ? 1 : 0;
      return true;
    case kGt:
      result = sa > sb ? 1 : 0;
      return true;
    case kLe:
      result = sa <= sb ? 1 : 0;
      return true;
    case kLt:
      result = sa < sb ? 1 : 0;
      return true;
    case kNe:
      result = a != b ? 1 : 0;
      return true;
    default:
      return false;
  }
}

class Evaluation {
 public:
  Evaluation(std::uint64_t begin, std::uint64_t end, ExpressionInput& input) noexcept
      : begin_(begin), cursor_(begin, end), input_(input) {}

  bool run(const ExpressionValue* initial, ExpressionValue& result) noexcept {
    if (initial != nullptr) push(*initial);
    for (unsigned steps = 0; ok_ && cursor_.more(); ++steps) {
      if (steps == kMaxSteps) return false;
      step(cursor_.read<std::uint8_t>());
    }
    if (!ok_ || !cursor_.ok() || size_ == 0) return false;
    result = stack_[size_ - 1];
    return true;
  }

 private:
  void step(std::uint8_t operation) noexcept {
    if (operation >= kLit0 && operation <= kLit31) {
      number(operation - std::uint64_t{kLit0});
    } else if (operation >= kBreg0 && operation <= kBreg31) {
      based(operation - std::uint64_t{kBreg0});
    } else if (operation == kBregx) {
      based(cursor_.uleb());
    } else if (operation <= kConsts) {
      operation == kDeref ? dereference(8) : constant(operation);
    } else if (operation <= kRot) {
      shuffle(operation);
    } else if (operation == kDerefSize) {
      dereference(cursor_.read<std::uint8_t>());
    } else if (operation == kBra || operation == kSkip) {
      jump(operation);
    } else if (operation == kAbs || operation == kNeg || operation == kNot) {
      unary(operation);
    } else if (operation == kPlusUconst) {
      add(pop(), {.amount = cursor_.uleb()});
    } else if (operation != kNoOperation) {
      binary(operation);
    }
  }

  void constant(std::uint8_t operation) noexcept {
    switch (operation) {
      case kConst1u:
        return number(cursor_.read<std::uint8_t>());
      case kConst1s:
        return number(widen(cursor_.read<std::int8_t>()));
      case kConst2u:
        return number(cursor_.read<std::uint16_t>());
      case kConst2s:
        return number(widen(cursor_.read<std::int16_t>()));
      case kConst4u:
        return number(cursor_.read<std::uint32_t>());
      case kConst4s:
        return number(widen(cursor_.read<std::int32_t>()));
      case kAddr:
      case kConst8u:
      case kConst8s:
        return number(cursor_.read<std::uint64_t>());
      case kConstu:
        return number(cursor_.uleb());
      case kConsts:
        return number(widen(cursor_.sleb()));
      default:
        ok_ = false;
    }
  }

  void shuffle(std::uint8_t operation) noexcept {
    switch (operation) {
      case kDup:
        return push(peek(0));
      case kDrop:
        pop();
        return;
      case kOver:
        return push(peek(1));
      case kPick:
        return push(peek(cursor_.read<std::uint8_t>()));
      case kSwap: {
        const ExpressionValue top = pop(), next = pop();
        push(top);
        return push(next);
      }
      default: {  // kRot: the top goes below the two others
        const ExpressionValue top = pop(), next = pop(), third = pop();
        push(top);
        push(third);
        return push(next);
      }
    }
  }

  void unary(std::uint8_t operation) noexcept {
    const ExpressionValue value = pop();
    if (value.form != Form::number) {
      ok_ = false;
    } else if (operation == kNot) {
      number(~value.amount);
    } else if (operation == kNeg || static_cast<std::int64_t>(value.amount) < 0) {
      number(0 - value.amount);
    } else {
      push(value);
    }
  }

  void binary(std::uint8_t operation) noexcept {
    const ExpressionValue b = pop(), a = pop();
    if (operation == kPlus) return add(a, b);
    if (operation == kMinus && b.form == Form::number) return add(a, {.amount = 0 - b.amount});
    std::uint64_t result = 0;
    const bool numbers = a.form == Form::number && b.form == Form::number;
    if (numbers && combine_numbers(operation, a.amount, b.amount, result)) {
      number(result);
    } else {
      ok_ = false;
    }
  }

  void add(ExpressionValue a, ExpressionValue b) noexcept {
    if (a.form != Form::number && b.form != Form::number) {
      ok_ = false;
      return;
    }
    ExpressionValue sum = a.form != Form::number ? a : b;
    sum.amount = a.amount + b.amount;
    push(sum);
  }

  void jump(std::uint8_t operation) noexcept {
    const std::int64_t distance = cursor_.read<std::int16_t>();
    if (operation == kBra) {
      const ExpressionValue condition = pop();
      if (condition.form != Form::number) ok_ = false;
      if (condition.amount == 0) return;
    }
    const std::uint64_t target = cursor_.at() + widen(distance);
    if (!cursor_.ok() || target < begin_ || target > cursor_.end()) {
      ok_ = false;
    } else {
      cursor_ = ByteCursor(target, cursor_.end());
    }
  }

  void based(std::uint64_t number_of_register) noexcept {
    const std::int64_t offset = cursor_.sleb();
    ExpressionValue value;
    if (!input_.read_register(number_of_register, value)) ok_ = false;
    value.amount += widen(offset);
    push(value);
  }

  void dereference(unsigned size) noexcept {
    const ExpressionValue address = pop();
    ExpressionValue value;
    if ((size != 1 && size != 2 && size != 4 && size != 8) || !ok_ || !input_.load(address, size, value))
      ok_ = false;
    push(value);
  }

  void number(std::uint64_t value) noexcept { push({.amount = value}); }

  void push(const ExpressionValue& value) noexcept {
    if (size_ == kStackSize) {
      ok_ = false;
    } else {
      stack_[size_++] = value;
    }
  }

  ExpressionValue pop() noexcept {
    if (size_ == 0) {
      ok_ = false;
      return {};
    }
    return stack_[--size_];
  }

  ExpressionValue peek(unsigned depth) noexcept {
    if (depth >= size_) {
      ok_ = false;
      return {};
    }
    return stack_[size_ - 1 - depth];
  }

  std::uint64_t begin_;
  ByteCursor cursor_;
  ExpressionInput& input_;
  ExpressionValue stack_[kStackSize];
  unsigned size_ = 0;
  bool ok_ = true;
};

/// Leaves registers open, except the program counter.
class SymbolicInput final : public ExpressionInput {
 public:
  explicit SymbolicInput(ProgramCounter pc) noexcept : pc_(pc) {}

  bool read_register(std::uint64_t number, ExpressionValue& value) noexcept override {
    if (number == pc_.number) {
      value = {.amount = pc_.value};
      return true;
    }
    if (number > pc_.number) return false;
    value = {.form = Form::register_plus, .base = static_cast<std::uint8_t>(number)};
    return true;
  }

  bool load(const ExpressionValue& address, unsigned size, ExpressionValue& value) noexcept override {
    if (address.form != Form::register_plus || size != 8) return false;
    value = {
        .inner = static_cast<std::int64_t>(address.amount), .form = Form::loaded_plus, .base = address.base};
    return true;
  }

 private:
  ProgramCounter pc_;
};

}  // namespace

bool evaluate_expression(std::uint64_t block, std::uint64_t limit, const ExpressionValue* initial,
                         ExpressionInput& input, ExpressionValue& result) noexcept {
  ByteCursor header(block, limit);
  const std::uint64_t length = header.uleb();
  if (!header.ok() || length > limit - header.at()) return false;
  return Evaluation(header.at(), header.at() + length, input).run(initial, result);
}

bool fold_expression(std::uint64_t block, std::uint64_t limit, ProgramCounter pc,
                     ExpressionValue& result) noexcept {
  SymbolicInput input(pc);
  return evaluate_expression(block, limit, nullptr, input, result);
}

}  // namespace culprit::unwind
