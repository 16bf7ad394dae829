#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/syscall.h>

// System calls without the C library: no errno, no cancellation point, nothing that the program could have
// interposed. All async-signal-safe. Errors are returned as negative errno values, as the kernel gives them.
namespace culprit::runtime {

/// A system call of up to six arguments; returns the kernel's result.
// NOLINTNEXTLINE(readability-function-size): as many as the kernel takes
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

template <typename Pointer>
long word(Pointer* pointer) {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

/// The kernel's signal mask: 64 bits, bit s - 1 for signal s.
using KernelMask = std::uint64_t;

inline KernelMask mask_of(int signal) {
  return KernelMask{1} << (signal - 1);
}

/// Changes the calling thread's mask (SIG_BLOCK, SIG_UNBLOCK or SIG_SETMASK) and returns the one before.
inline KernelMask change_mask(int how, KernelMask mask) {
  KernelMask before = 0;
  system_call(SYS_rt_sigprocmask, how, word(&mask), word(&before), sizeof mask);
  return before;
}

inline long process_id() {
  return system_call(SYS_getpid);
}
inline long thread_id() {
  return system_call(SYS_gettid);
}

}  // namespace culprit::runtime
