#pragma once

#include <sys/syscall.h>

namespace culprit::machine {

/// A system call of up to six arguments; returns the kernel's result.
// NOLINTNEXTLINE(readability-function-size): as many as the kernel takes
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) noexcept {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

/// Calls that not all processors have: numbers that no call has stand for those that are missing.
inline constexpr int kPoll = -1, kSelect = -2, kEpollWait = -3, kPause = -4;

}  // namespace culprit::machine
