#pragma once

#include <cstdint>

namespace culprit::unwind::aarch64 {

/// What an instruction does to the stack pointer, x29 and x30, as far as the way out of a function depends on
/// it.
struct FrameChange {
  enum class Kind : std::uint8_t {
    none,
    set,      ///< reg = base + number
    memory,   ///< loads or stores 8 bytes each of `reg` and `second` at base + number, or others
    spoil,    ///< reg is computed otherwise
    unknown,  ///< the stack pointer is
  };
  static constexpr std::uint8_t kNone = 255;

  Kind kind = Kind::none;
  std::uint8_t reg = kNone;     ///< 29, 30, or 31 for the stack pointer
  std::uint8_t second = kNone;  ///< of a pair, 8 bytes further
  std::uint8_t base = kNone;
  bool loads = false;
  std::int64_t number = 0;     ///< for memory: from the base as it was before
  std::int64_t writeback = 0;  ///< for memory: added to the base in the end
};

/// stp x16, x30, [sp, #-16]!: how the head of a procedure linkage table begins, and nothing else.
inline constexpr std::uint32_t kPltHead = 0xa9bf7bf0;

/// Source: Arm ARM, C4.1 (add and sub of an immediate, loads and stores). Async-signal-safe.
FrameChange frame_change_of(std::uint32_t code) noexcept;

}  // namespace culprit::unwind::aarch64
