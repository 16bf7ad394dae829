#pragma once

#include "unwind/code_bytes.hpp"

#include <cstdint>

namespace culprit::unwind {

/// What an x86-64 instruction means to who looks for the way out of a function.
struct Instruction {
  enum class Kind : std::uint8_t {
    unknown,   ///< not decoded, or it does to the stack pointer what is not followed
    other,     ///< leaves rsp and rbp alone
    push,      ///< any operand
    pop,       ///< into reg
    adjust,    ///< rsp += number
    from_bp,   ///< rsp = rbp + number
    to_bp,     ///< rbp = rsp + number
    load_bp,   ///< rbp = *(reg + number), reg rsp or rbp
    leave,     ///< rsp = rbp, pop rbp
    spoil_bp,  ///< rbp is computed otherwise
    call,      ///< returns in the end, with the stack as it was
    branch,    ///< conditional, to target
    jump,      ///< to target
    jump_to,   ///< the address in reg, or in memory (reg 255)
    ret,
  };
  static constexpr std::uint8_t kMemory = 255;

  Kind kind = Kind::unknown;
  std::uint8_t reg = 0;  ///< hardware number; for load_bp DWARF's
  int length = 0;
  std::int64_t number = 0;
  std::uint64_t target = 0;
};

/// Decodes the instruction at code.address(). Knows the lengths of what compilers emit (general, SSE, AVX,
/// AVX-512); source: Intel SDM volume 2, appendix A. Async-signal-safe.
Instruction decode_instruction(CodeBytes& code) noexcept;

}  // namespace culprit::unwind
