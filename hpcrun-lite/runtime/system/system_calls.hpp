#pragma once

#include "machine/machine.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <sys/stat.h>
#include <sys/syscall.h>

// System calls without the C library: no errno, no cancellation point, nothing that the program could have
// interposed. All async-signal-safe. Errors are returned as negative errno values, as the kernel gives them.
namespace culprit::runtime {

using machine::in_system_call;
using machine::starts_over;
using machine::system_call;

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

/// The file type bits of the mode; 0 where there are none (an event descriptor, or no descriptor at all).
inline mode_t file_type_of(int descriptor) {
  struct stat status {};
  return system_call(SYS_fstat, descriptor, word(&status)) == 0 ? status.st_mode & S_IFMT : 0;
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

/// Whether a signal that names timer `reported` is from the timer that timer_create called `timer`. qemu's
/// emulation of programs gives timers numbers of its own (all with these high bits, which no kernel reaches),
/// but passes signals on with the kernel's: there the signal's value alone must say it.
inline bool is_of_timer(int timer, int reported) {
  constexpr int kEmulated = 0x0caf;
  return timer == reported || timer >> 16 == kEmulated;
}

}  // namespace culprit::runtime
