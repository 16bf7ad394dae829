#pragma once

#include <sys/syscall.h>

namespace culprit::machine {

/// A system call of up to six arguments; returns the kernel's result.
// NOLINTNEXTLINE(readability-function-size): as many as the kernel takes
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) noexcept {
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

/// Calls that not all processors have: numbers that no call has stand for those that are missing.
inline constexpr int kPoll = SYS_poll, kSelect = SYS_select, kEpollWait = SYS_epoll_wait, kPause = SYS_pause;

}  // namespace culprit::machine
