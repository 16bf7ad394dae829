#pragma once

#include "machine/machine.hpp"

#include <cstdint>

// DWARF expressions (DWARF 5, 2.5) as call-frame rules use them, by one bounded evaluator that can compute
// symbolically: with registers left open, most expressions in the wild reduce to `register + offset` (a PLT
// stub's, since its pc is known) or to `*(register + offset) + offset` (realigned frames, the signal
// trampoline), which compact rules express. Async-signal-safe.
namespace culprit::unwind {

/// A number, or one that depends on a register's value: `amount`, `register + amount` or
/// `*(register + inner) + amount`.
struct ExpressionValue {
  enum class Form : std::uint8_t { number, register_plus, loaded_plus };
  std::uint64_t amount = 0;
  std::int64_t inner = 0;
  Form form = Form::number;
  std::uint8_t base = 0;  ///< DWARF register number
};

/// What an expression can ask for.
class ExpressionInput {
 public:
  /// The value of register `number`, or a symbol for it. False: unknown.
  virtual bool read_register(std::uint64_t number, ExpressionValue& value) noexcept = 0;
  /// Loads `size` (1, 2, 4 or 8) bytes from `address`, zero-extended, or a symbol for that. False:
  /// unreadable.
  virtual bool load(const ExpressionValue& address, unsigned size, ExpressionValue& value) noexcept = 0;

 protected:
  ~ExpressionInput() = default;
};

/// Evaluates the block at `block` (ULEB128 length, then operations), which must end before `limit`. The stack
/// starts with `initial` where given (register rules start with the CFA). False: an operation that is
/// unknown, out of bounds or not expressible, or more than 256 steps.
bool evaluate_expression(std::uint64_t block, std::uint64_t limit, const ExpressionValue* initial,
                         ExpressionInput& input, ExpressionValue& result) noexcept;

/// The value of the register that stands for the place in the code.
struct ProgramCounter {
  std::uint64_t value = 0;
  std::uint8_t number = machine::This::kProgramCounter;  ///< DWARF's; no register has a higher one
};

/// Reduces the expression symbolically; the program counter alone has a value.
bool fold_expression(std::uint64_t block, std::uint64_t limit, ProgramCounter pc,
                     ExpressionValue& result) noexcept;

}  // namespace culprit::unwind
