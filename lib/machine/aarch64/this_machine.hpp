#pragma once

// All of aarch64 at once: by machine.hpp only.
#include "machine/aarch64/call_frames.hpp"
#include "machine/aarch64/entries.hpp"
#include "machine/aarch64/instructions.hpp"
#include "machine/aarch64/interrupted.hpp"
#include "machine/aarch64/stopped.hpp"

#include <cstdint>

#include <elf.h>

namespace culprit::machine {

using This = Aarch64;

inline constexpr std::uint16_t kElfMachine = EM_AARCH64;
/// As messages name it.
inline constexpr const char* kName = "aarch64";

/// Whether relocations of this type fill a slot with a function's address, which calls go through.
constexpr bool is_call_slot(std::uint64_t relocation_type) {
  return relocation_type == R_AARCH64_JUMP_SLOT || relocation_type == R_AARCH64_GLOB_DAT;
}

/// Thread-local variables lie above the thread pointer, the C library's description of the thread below it.
inline constexpr bool kVariablesAbovePointer = true;

inline std::uintptr_t thread_pointer() noexcept {
  return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
}

/// A thread control block at `pointer` that satisfies what the C library's system call wrappers look at:
/// nothing but zeroes. The guards are the process's.
inline void* make_thread_control(char* pointer) noexcept {
  return pointer;
}

/// What a spin lock of the C library holds while it is free.
inline constexpr int kFreeSpinLock = 0;

}  // namespace culprit::machine
