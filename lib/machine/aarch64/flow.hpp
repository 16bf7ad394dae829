#pragma once

#include <cstdint>

namespace culprit::machine::aarch64 {

/// What an instruction of aarch64 does to the flow of control (Arm ARM, C4.1, branches).
struct Flow {
  enum class Kind : std::uint8_t {
    next,      ///< execution goes on behind it
    call,      ///< likewise, if what it calls returns
    branch,    ///< to `distance` or behind it
    jump,      ///< to `distance`
    computed,  ///< to where `reg` says
    ret,       ///< likewise: the caller
    trap,      ///< nothing comes behind it
  };
  Kind kind = Kind::next;
  bool direct = false;        ///< of a call: `distance` says whom
  std::uint8_t reg = 0;       ///< of computed and ret
  std::int64_t distance = 0;  ///< in bytes from the instruction
};

/// Bits [low, low + count) of an instruction, with its sign.
constexpr std::int64_t signed_bits(std::uint32_t code, unsigned low, unsigned count) noexcept {
  return static_cast<std::int64_t>(std::uint64_t{code} << (64 - low - count)) >> (64 - count);
}

/// Of registers' branches: br, blr, ret, and their forms with pointer authentication.
constexpr Flow flow_by_register(std::uint32_t code) noexcept {
  const auto reg = static_cast<std::uint8_t>(code >> 5U & 31U);
  switch (code >> 21U & 15U) {
    case 0:
    case 8:
      return {.kind = Flow::Kind::computed, .reg = reg};
    case 1:
    case 9:
      return {.kind = Flow::Kind::call, .reg = reg};
    case 2:  // retaa and retab name no register
      return {.kind = Flow::Kind::ret, .reg = reg == 31 ? std::uint8_t{30} : reg};
    default:
      return {.kind = Flow::Kind::trap};
  }
}

constexpr Flow flow_of(std::uint32_t code) noexcept {
  using Kind = Flow::Kind;
  if ((code & 0x7c000000U) == 0x14000000U) {  // b, bl
    const bool call = code >> 31U != 0;
    return {.kind = call ? Kind::call : Kind::jump, .direct = true, .distance = signed_bits(code, 0, 26) * 4};
  }
  const bool conditional = (code & 0xff000000U) == 0x54000000U;
  if (conditional || (code & 0x7e000000U) == 0x34000000U)  // b.cond, cbz, cbnz
    return {.kind = Kind::branch, .direct = true, .distance = signed_bits(code, 5, 19) * 4};
  if ((code & 0x7e000000U) == 0x36000000U)  // tbz, tbnz
    return {.kind = Kind::branch, .direct = true, .distance = signed_bits(code, 5, 14) * 4};
  if ((code & 0xfe000000U) == 0xd6000000U) return flow_by_register(code);
  const bool breaks = (code & 0xffe0001fU) == 0xd4200000U || (code & 0xffe0001fU) == 0xd4400000U;  // brk, hlt
  if (breaks || code >> 16U == 0) return {.kind = Kind::trap};                                     // udf
  return {};
}

}  // namespace culprit::machine::aarch64
