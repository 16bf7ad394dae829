#include "measurement/write_signals.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>

#include <sys/syscall.h>
#include <unistd.h>

// By direct system calls: other preloaded libraries interpose the C library's functions on signals.
namespace culprit::measurement {
namespace {

using KernelMask = std::uint64_t;  // bit s - 1 for signal s

constexpr KernelMask mask_of(int signal) {
  return KernelMask{1} << (signal - 1);
}

constexpr KernelMask kWriteSignals = mask_of(SIGXFSZ) | mask_of(SIGPIPE);

KernelMask pending() noexcept {
  KernelMask mask = 0;
  syscall(SYS_rt_sigpending, &mask, sizeof mask);
  return mask & kWriteSignals;
}

}  // namespace

WriteSignals::WriteSignals() noexcept {
  const int error = errno;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kWriteSignals, &mask_before_, sizeof mask_before_);
  pending_before_ = pending();
  errno = error;
}

WriteSignals::~WriteSignals() {
  const int error = errno;
  const timespec at_once{};
  for (KernelMask ours = pending() & ~pending_before_; ours != 0; ours = pending() & ~pending_before_) {
    if (syscall(SYS_rt_sigtimedwait, &ours, nullptr, &at_once, sizeof ours) < 0 && errno != EINTR) break;
  }
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_before_, nullptr, sizeof mask_before_);
  errno = error;
}

}  // namespace culprit::measurement
