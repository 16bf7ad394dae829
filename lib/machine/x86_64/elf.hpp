#pragma once

#include <cstdint>

#include <elf.h>

namespace culprit::machine {

inline constexpr std::uint16_t kElfMachine = EM_X86_64;
/// As messages name it.
inline constexpr const char* kName = "x86-64";

/// Whether relocations of this type fill a slot with a function's address, which calls go through.
constexpr bool is_call_slot(std::uint64_t relocation_type) {
  return relocation_type == R_X86_64_JUMP_SLOT || relocation_type == R_X86_64_GLOB_DAT;
}

}  // namespace culprit::machine
