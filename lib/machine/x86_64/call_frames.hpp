#pragma once

#include <cstdint>

namespace culprit::machine {

/// Call frames on x86-64 (System V ABI 3.2, 3.6.2): registers by their DWARF numbers.
struct X86_64 {
  static constexpr std::uint8_t kStackPointer = 7;   ///< rsp
  static constexpr std::uint8_t kFramePointer = 6;   ///< rbp
  static constexpr std::uint8_t kThirdRegister = 3;  ///< rbx, which _dl_runtime_resolve finds its frame by
  static constexpr std::uint8_t kProgramCounter = 16;
  static constexpr std::uint8_t kRegisterCount = 17;
  /// Those that a rule keeps; the frame pointer and the third register come first.
  static constexpr unsigned kSaved = 6;
  static constexpr std::uint8_t kSavedRegisters[kSaved] = {6, 3, 12, 13, 14, 15};
  /// What a call leaves as it was, and the pc.
  static constexpr std::uint64_t kPreserved = 1U << 3 | 1U << 6 | 1U << 7 | 0xfU << 12 | 1U << 16;
  /// Of a usual frame: where the return address lies, in words from the CFA.
  static constexpr std::int16_t kReturnSlot = -1;
  /// Whether a function that calls nothing may leave its return address in a register.
  static constexpr bool kReturnsByRegister = false;
  /// Whether return addresses may carry a signature, and call-frame instructions that say so.
  static constexpr bool kSignsReturns = false;
  static constexpr std::uint64_t kAddressMask = ~std::uint64_t{0};
  /// Bytes below the stack pointer that are still the function's own.
  static constexpr std::uint64_t kRedZone = 128;
};

}  // namespace culprit::machine
