#pragma once

#include <atomic>
#include <chrono>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>

// Waiting by system calls that no library sees, as language runtimes do it.

/// The system call futex on `address`, which is private to the process.
inline long raw_futex(std::atomic<int>* address, int operation, int value, const timespec* limit = nullptr) {
  long result = SYS_futex;
  register const timespec* time __asm__("r10") = limit;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(address), "S"(operation), "d"(value), "r"(time)
                   : "rcx", "r11", "memory");
  return result;
}

/// Until the instant, whatever wakes the thread.
inline void raw_wait_until(std::chrono::steady_clock::time_point end) {
  using std::chrono::steady_clock;
  std::atomic<int> nobody{0};
  while (steady_clock::now() < end) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - steady_clock::now()).count();
    const timespec rest{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    if (left > 0) raw_futex(&nobody, FUTEX_WAIT_PRIVATE, 0, &rest);
  }
}

inline void raw_wait(std::chrono::milliseconds length) {
  raw_wait_until(std::chrono::steady_clock::now() + length);
}
