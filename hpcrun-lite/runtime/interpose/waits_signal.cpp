// Waiting for signals: ours must neither end the wait nor be handed to the program.
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/interpose/wait_time.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"
#include "runtime/system/signal_set.hpp"

#include <csignal>

#include <sys/signalfd.h>
#include <unistd.h>

namespace {

using culprit::runtime::BlockedCall;
using culprit::runtime::mask_in;
using culprit::runtime::process;
using culprit::runtime::Real;
using culprit::runtime::set_mask;

/// The given set without our signal.
class WithoutOurs {
 public:
  explicit WithoutOurs(const sigset_t* given) : given_(given) {
    if (given == nullptr || !process.active) return;
    set_ = *given;
    set_mask(set_, mask_in(*given) & ~process.mask);
    given_ = &set_;
  }
  [[nodiscard]] const sigset_t* get() const { return given_; }

 private:
  const sigset_t* given_;
  sigset_t set_;
};

}  // namespace

CULPRIT_EXPORT int sigwait(const sigset_t* set, int* signal) {
  static CULPRIT_REAL Real<int(const sigset_t*, int*)> real{"sigwait"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(WithoutOurs(set).get(), signal);
}

CULPRIT_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  static CULPRIT_REAL Real<int(const sigset_t*, siginfo_t*)> real{"sigwaitinfo"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(WithoutOurs(set).get(), info);
}

CULPRIT_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  static CULPRIT_REAL Real<int(const sigset_t*, siginfo_t*, const timespec*)> real{"sigtimedwait"};
  const BlockedCall call(real.address(), culprit::runtime::limit_of(timeout));
  return real(WithoutOurs(set).get(), info, timeout);
}

CULPRIT_EXPORT int sigsuspend(const sigset_t* mask) {
  static CULPRIT_REAL Real<int(const sigset_t*)> real{"sigsuspend"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  if (!process.active) return real(mask);
  sigset_t with_ours = *mask;
  set_mask(with_ours, mask_in(*mask) | process.mask);
  return real(&with_ours);
}

// sigpause takes a signal number or, in its older form, a mask; the headers choose among these.
CULPRIT_EXPORT int pause_with_mask(int mask) __asm__("sigpause");
int pause_with_mask(int mask) {
  static CULPRIT_REAL Real<int(int)> real{"sigpause"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(mask);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): its name in the C library
CULPRIT_EXPORT int __xpg_sigpause(int signal) {
  static CULPRIT_REAL Real<int(int)> real{"__xpg_sigpause"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(signal);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): its name in the C library
CULPRIT_EXPORT int __sigpause(int signal_or_mask, int is_signal) {
  static CULPRIT_REAL Real<int(int, int)> real{"__sigpause"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(signal_or_mask, is_signal);
}

CULPRIT_EXPORT int pause() {
  static CULPRIT_REAL Real<int()> real{"pause"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real();
}

CULPRIT_EXPORT int signalfd(int descriptor, const sigset_t* mask, int flags) noexcept {
  static CULPRIT_REAL Real<int(int, const sigset_t*, int)> real{"signalfd"};
  return real(descriptor, WithoutOurs(mask).get(), flags);
}
