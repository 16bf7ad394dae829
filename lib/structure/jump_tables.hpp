#pragma once

#include "structure/machine_code.hpp"
#include "structure/module.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::structure {

/// Finds where the computed jumps of switch statements lead, by the forms gcc and clang give them on x86-64:
///
///     position-independent:  lea base, [rip + table]; movsxd x, dword [base + 4 * index]; add x, base; jmp x
///     absolute:              jmp [8 * index + table], or mov x, [8 * index + table]; jmp x
///
/// The base may be set far before the jump (out of a loop), and at -O0 the pieces go through other registers:
/// the nearest table address before the jump is taken. The number of entries is that of the bounds check
/// before the jump, where one is found; a table ends in any case at the first entry that is no instruction of
/// the procedure.
class JumpTables {
 public:
  JumpTables(const Module& module, const Decoder& decoder) : module_(module), decoder_(decoder) {}

  /// Targets of the computed jump `instructions[jump]`, in the order of the table; empty where they cannot be
  /// determined. `instructions` are those of the whole procedure, ascending.
  [[nodiscard]] std::vector<std::uint64_t> targets(std::span<const Instruction> instructions,
                                                   std::size_t jump) const;

 private:
  struct Table {
    std::uint64_t address = 0;
    bool relative = false;  ///< entries of four bytes, counted from the table; else addresses of eight
    std::size_t entries = 0;
  };
  [[nodiscard]] Table locate(std::span<const Instruction> instructions, std::size_t jump) const;
  [[nodiscard]] std::uint64_t table_base(std::span<const Instruction> instructions, std::size_t before,
                                         ZydisRegister wanted) const;
  [[nodiscard]] std::size_t bound(std::span<const Instruction> instructions, std::size_t jump) const;
  const Module& module_;
  const Decoder& decoder_;
};

}  // namespace culprit::structure
