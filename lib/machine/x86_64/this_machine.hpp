#pragma once

// All of x86_64 at once: by machine.hpp only.
#include "machine/x86_64/call_frames.hpp"
#include "machine/x86_64/entries.hpp"
#include "machine/x86_64/instructions.hpp"
#include "machine/x86_64/interrupted.hpp"
#include "machine/x86_64/stopped.hpp"

#include <cstdint>
#include <cstring>

#include <elf.h>

namespace culprit::machine {

using This = X86_64;

inline constexpr std::uint16_t kElfMachine = EM_X86_64;
/// As messages name it.
inline constexpr const char* kName = "x86-64";

/// Whether relocations of this type fill a slot with a function's address, which calls go through.
constexpr bool is_call_slot(std::uint64_t relocation_type) {
  return relocation_type == R_X86_64_JUMP_SLOT || relocation_type == R_X86_64_GLOB_DAT;
}

/// Thread-local variables lie below the thread pointer, the C library's description of the thread above it.
inline constexpr bool kVariablesAbovePointer = false;

inline std::uintptr_t thread_pointer() noexcept {
  std::uintptr_t pointer;
  __asm__("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

/// A thread control block at `pointer` that satisfies what the C library's system call wrappers look at:
/// zeroed thread-local variables, the pointers to itself, and the process's two guards.
inline void* make_thread_control(char* pointer) noexcept {
  const auto self = reinterpret_cast<std::uintptr_t>(pointer);
  const auto* original = reinterpret_cast<const char*>(thread_pointer());
  std::memcpy(pointer, &self, sizeof self);          // %fs:0, read by every thread-local access
  std::memcpy(pointer + 0x10, &self, sizeof self);   // %fs:0x10, the C library's "self"
  std::memcpy(pointer + 0x28, original + 0x28, 16);  // stack and pointer guard
  return pointer;
}

/// What a spin lock of the C library holds while it is free: it counts down from 1.
inline constexpr int kFreeSpinLock = 1;

}  // namespace culprit::machine
