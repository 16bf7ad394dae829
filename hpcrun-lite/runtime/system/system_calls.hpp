#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <sys/syscall.h>
#include <ucontext.h>

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

// The C library's signal sets as the kernel's masks, which they begin with.
namespace culprit::runtime {

inline KernelMask mask_in(const sigset_t& set) {
  KernelMask mask = 0;
  memcpy(&mask, &set, sizeof mask);
  return mask;
}

inline void set_mask(sigset_t& set, KernelMask mask) {
  memcpy(&set, &mask, sizeof mask);
}

}  // namespace culprit::runtime

namespace culprit::runtime {

/// Creates a timer on `clock` whose expirations send `signal` to the thread `thread_id` of this process, with
/// `mark` as their value. Returns the kernel's number for it, or a negative errno. Async-signal-safe.
inline long create_thread_timer(clockid_t clock, int signal, int thread_id, int mark) {
  sigevent notify{};
  notify.sigev_notify = SIGEV_THREAD_ID;
  notify.sigev_signo = signal;
  notify.sigev_value.sival_int = mark;
  notify._sigev_un._tid = thread_id;
  int timer = -1;
  const long failed = system_call(SYS_timer_create, clock, word(&notify), word(&timer));
  return failed == 0 ? timer : failed;
}

}  // namespace culprit::runtime

// What a signal interrupted, as the kernel left it in the registers (x86-64): the instruction of a system
// call has its return address in rcx. Async-signal-safe.
namespace culprit::runtime {

/// True if the interrupted code is a system call that starts over when the handler returns: the kernel has
/// put the program counter back onto the two bytes of the instruction.
inline bool starts_over(const void* context) {
  constexpr greg_t kSystemCallSize = 2;
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return registers[REG_RCX] == registers[REG_RIP] + kSystemCallSize;
}

/// True if it is a system call, which starts over or was broken off.
inline bool in_system_call(const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return registers[REG_RCX] == registers[REG_RIP] || starts_over(context);
}

}  // namespace culprit::runtime
