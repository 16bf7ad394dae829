// What an aarch64 instruction means for the way out of a function (docs/algorithms.md 14): all are 4 bytes
// long, and few forms touch sp, x29 and x30. Loads and stores by their two large classes, pairs and single
// registers, with and without writing the base back.
#include "unwind/aarch64/frame_change.hpp"

#include "machine/aarch64/flow.hpp"

namespace culprit::unwind::aarch64 {

namespace {

using Kind = FrameChange::Kind;
using machine::aarch64::signed_bits;

constexpr std::uint8_t kStackPointer = 31, kLink = 30, kFrame = 29;

std::uint8_t field(std::uint32_t code, unsigned low) noexcept {
  return static_cast<std::uint8_t>(code >> low & 31U);
}

bool is_followed(std::uint8_t reg) noexcept {
  return reg == kFrame || reg == kLink;
}

/// add and sub of an immediate, which alone of all arithmetic is for the stack pointer (mov is one, too).
FrameChange add_immediate(std::uint32_t code) noexcept {
  const std::uint8_t to = field(code, 0), from = field(code, 5);
  const bool wide = code >> 31U != 0, flags = (code >> 29U & 1U) != 0;
  if (flags || (to != kStackPointer && !is_followed(to))) return {};  // 31 is no register there with flags
  if (!wide) return {.kind = to == kStackPointer ? Kind::unknown : Kind::spoil, .reg = to};
  std::int64_t number = code >> 10U & 0xfffU;
  if ((code >> 22U & 1U) != 0) number <<= 12U;
  if ((code >> 30U & 1U) != 0) number = -number;
  if (from == kStackPointer || from == kFrame)
    return {.kind = Kind::set, .reg = to, .base = from, .number = number};
  return {.kind = to == kStackPointer ? Kind::unknown : Kind::spoil, .reg = to};
}

/// Loads and stores of a register `reg` (or a pair), general ones of 8 bytes only by `whole`.
FrameChange access(std::uint32_t code, bool whole, bool loads, std::int64_t number, std::int64_t writeback) {
  FrameChange change{
      .kind = Kind::memory, .base = field(code, 5), .loads = loads, .number = number, .writeback = writeback};
  if (whole) change.reg = field(code, 0);
  return change;
}

/// ldp, stp and their like: the distance is in units of a register's size.
FrameChange pair(std::uint32_t code) noexcept {
  const unsigned size = code >> 30U;
  const bool vector = (code >> 26U & 1U) != 0, loads = (code >> 22U & 1U) != 0;
  const unsigned mode = code >> 23U & 3U;  // without hint, behind, offset, before
  const unsigned shift = vector ? 2 + size : 2 + (size >> 1U);
  const std::int64_t distance = signed_bits(code, 15, 7) * (std::int64_t{1} << shift);
  const bool writes_back = mode == 1 || mode == 3;
  const bool whole = !vector && size == 2;
  FrameChange change = access(code, whole, loads, mode == 1 ? 0 : distance, writes_back ? distance : 0);
  if (whole) change.second = field(code, 10);
  if (!whole && !vector && loads && (is_followed(field(code, 0)) || is_followed(field(code, 10))))
    change.kind = Kind::unknown;  // half of an address
  return change;
}

/// ldr, str and their like, of one register.
FrameChange single(std::uint32_t code) noexcept {
  const unsigned size = code >> 30U, operation = code >> 22U & 3U;
  const bool vector = (code >> 26U & 1U) != 0;
  const bool loads = operation != 0, whole = !vector && size == 3 && operation <= 1;
  FrameChange change;
  if ((code >> 24U & 1U) != 0) {  // an unsigned distance in units of the size
    change = access(code, whole, loads, std::int64_t{code >> 10U & 0xfffU} * 8, 0);
  } else if ((code >> 21U & 1U) != 0) {  // by a register, or atomic: where is not known
    change = access(code, whole, loads, 0, 0);
    change.base = FrameChange::kNone;
  } else {
    const std::int64_t distance = signed_bits(code, 12, 9);
    const unsigned mode = code >> 10U & 3U;  // unscaled, behind, without privilege, before
    const bool writes_back = mode == 1 || mode == 3;
    change = access(code, whole, loads, mode == 1 ? 0 : distance, writes_back ? distance : 0);
  }
  if (!whole && !vector && loads && is_followed(field(code, 0))) change.kind = Kind::unknown;
  return change;
}

}  // namespace

FrameChange frame_change_of(std::uint32_t code) noexcept {
  if ((code & 0x1f800000U) == 0x11000000U) return add_immediate(code);
  if ((code & 0x3a000000U) == 0x28000000U) return pair(code);
  if ((code & 0x3a000000U) == 0x38000000U) return single(code);
  const std::uint8_t to = field(code, 0);
  const unsigned group = code >> 25U & 15U;
  const bool immediate = (group & 14U) == 8, registers = (group & 7U) == 5;
  // add and sub of an extended register, and logic of an immediate: a frame of a size that is not written
  // here.
  const bool extended = (code & 0x1fe00000U) == 0x0b200000U, logic = (code & 0x1f800000U) == 0x12000000U;
  const bool flags = (code >> 29U & (logic ? 3U : 1U)) == (logic ? 3U : 1U);
  if ((extended || logic) && to == kStackPointer && !flags) return {.kind = Kind::unknown, .reg = to};
  if ((immediate || registers) && is_followed(to)) return {.kind = Kind::spoil, .reg = to};
  return {};
}

}  // namespace culprit::unwind::aarch64
