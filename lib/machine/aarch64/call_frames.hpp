#pragma once

#include <cstdint>

namespace culprit::machine {

/// Call frames on aarch64 (AAPCS64 6; DWARF for the Arm 64-bit architecture): registers by their DWARF
/// numbers.
struct Aarch64 {
  static constexpr std::uint8_t kStackPointer = 31;
  static constexpr std::uint8_t kFramePointer = 29;
  static constexpr std::uint8_t kThirdRegister = 30;   ///< the link register
  static constexpr std::uint8_t kProgramCounter = 32;  ///< under which the caller's pc is kept
  static constexpr std::uint8_t kRegisterCount = 33;
  /// Those that a rule keeps; the frame pointer and the link register come first.
  static constexpr unsigned kSaved = 6;
  static constexpr std::uint8_t kSavedRegisters[kSaved] = {29, 30, 19, 20, 21, 22};
  /// What a call leaves as it was (x19 to x29, sp), and the pc.
  static constexpr std::uint64_t kPreserved = std::uint64_t{0x7ff} << 19 | std::uint64_t{3} << 31;
  /// Frame records lie at the bottom of a frame, so that no place is usual.
  static constexpr std::int16_t kReturnSlot = INT16_MIN;
  static constexpr bool kReturnsByRegister = true;
  /// DW_CFA_AARCH64_negate_ra_state: pointer authentication signs the bits above an address.
  static constexpr bool kSignsReturns = true;
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kRedZone = 0;  ///< AAPCS64 has none
};

}  // namespace culprit::machine
