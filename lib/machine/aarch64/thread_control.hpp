#pragma once

#include <cstdint>

namespace culprit::machine {

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
