// Programs block all signals around what must not be interrupted, or for good and wait for them in one
// thread. The sampling signals are never blocked on their behalf: what they compute meanwhile would be
// charged to the call that unblocks. They read back the masks that they set.
#include "runtime/sampling/program_signals.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"
#include "runtime/system/system_calls.hpp"

#include <cerrno>
#include <csignal>

#include <ucontext.h>

namespace culprit::runtime {
namespace {

using Change = int(int, const sigset_t*, sigset_t*);

KernelMask after(KernelMask before, int how, KernelMask named) {
  if (how == SIG_BLOCK) return before | named;
  return how == SIG_UNBLOCK ? before & ~named : named;
}

int change_kept(Real<Change>& real, int how, const sigset_t* set, sigset_t* before) {
  const KernelMask ours = process.mask;
  const KernelMask believed = blocked_by_program();
  sigset_t kept;
  const sigset_t* passed = set;
  if (set != nullptr) {
    set_blocked_by_program(after(believed, how, mask_in(*set) & ours));
    // Unblocking passes as it is: a signal that was put off arrives then.
    if (how != SIG_UNBLOCK) {
      kept = *set;
      set_mask(kept, mask_in(*set) & ~ours);
      passed = &kept;
    }
  }
  const int result = real(how, passed, before);
  if (result != 0) set_blocked_by_program(believed);
  if (result == 0 && before != nullptr) set_mask(*before, (mask_in(*before) & ~ours) | believed);
  return result;
}

/// True where masks are kept: in sampled threads.
bool keeps_unblocked() {
  return process.active && this_thread() != nullptr;
}

int change_one(Real<int(int)>& real, int how, int signal) {
  if (!keeps_unblocked() || (process.mask & mask_of(signal)) == 0) return real(signal);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return sigprocmask(how, &set, nullptr);
}

}  // namespace

}  // namespace culprit::runtime

using culprit::runtime::change_kept;
using culprit::runtime::change_one;
using culprit::runtime::keeps_unblocked;
using culprit::runtime::Real;

CULPRIT_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  static CULPRIT_REAL Real<int(int, const sigset_t*, sigset_t*)> real{"pthread_sigmask"};
  return keeps_unblocked() ? change_kept(real, how, set, before) : real(how, set, before);
}

CULPRIT_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  static CULPRIT_REAL Real<int(int, const sigset_t*, sigset_t*)> real{"sigprocmask"};
  return keeps_unblocked() ? change_kept(real, how, set, before) : real(how, set, before);
}

CULPRIT_EXPORT int sighold(int signal) noexcept {
  static CULPRIT_REAL Real<int(int)> real{"sighold"};
  return change_one(real, SIG_BLOCK, signal);
}

CULPRIT_EXPORT int sigrelse(int signal) noexcept {
  static CULPRIT_REAL Real<int(int)> real{"sigrelse"};
  return change_one(real, SIG_UNBLOCK, signal);
}
