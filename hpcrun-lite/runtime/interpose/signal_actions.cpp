// The sampling signals are ours: a program that gives every signal a handler, as some do, keeps its handler
// in a shadow, which is called for signals that no event of ours sent.
#include "runtime/events/papi_sampling.hpp"
#include "runtime/interpose/blocked_signal.hpp"
#include "runtime/interpose/shadow_action.hpp"
#include "runtime/process/process.hpp"
#include "runtime/sampling/full_queue.hpp"
#include "runtime/system/c_library.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cerrno>
#include <csignal>

namespace culprit::runtime {
namespace {

struct sigaction shadows[2] = {};  // of our signal and of PAPI's; all zero is the default action

/// Null where the signal is the program's own.
struct sigaction* shadow_of(int signal) {
  if (!process.active) return nullptr;
  if (signal == process.signal) return &shadows[0];
  return signal == process.papi_signal ? &shadows[1] : nullptr;
}

CULPRIT_REAL Real<int(int, const struct sigaction*, struct sigaction*)> real_sigaction{"sigaction"};

/// The default action of a real-time signal is to end the process. What comes late from an event of ours,
/// through the kernel, is no reason for that.
void act_by_default(int signal, const siginfo_t* info) {
  if (info->si_code == SI_TIMER || info->si_code > 0) return;
  struct sigaction action {};
  if (real_sigaction(signal, &action, nullptr) != 0) return;
  change_mask(SIG_UNBLOCK, mask_of(signal));
  system_call(SYS_tgkill, process_id(), thread_id(), signal);
}

/// signal() and its kin, which differ in the flags that they stand for. They never reach sigaction by its
/// name.
sighandler_t set_handler(Real<sighandler_t(int, sighandler_t)>& real, int number, sighandler_t handler,
                         int flags) {
  if (number != SIGIO && shadow_of(number) == nullptr) return real(number, handler);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

constexpr int kBsd = SA_RESTART;
constexpr int kSystemV = static_cast<int>(SA_RESETHAND | SA_NODEFER);

}  // namespace

void act_in_shadow(int signal, siginfo_t* info, void* context) {
  if (put_off(signal, info, context)) return;
  const struct sigaction shadow = shadows[signal == process.signal ? 0 : 1];
  if ((shadow.sa_flags & static_cast<int>(SA_RESETHAND)) != 0)
    shadows[signal == process.signal ? 0 : 1].sa_handler = SIG_DFL;
  const sighandler_t handler = shadow.sa_handler;  // shares its place with sa_sigaction
  if (handler == SIG_DFL) {
    act_by_default(signal, info);
  } else if (handler != SIG_IGN && (shadow.sa_flags & SA_SIGINFO) != 0) {
    shadow.sa_sigaction(signal, info, context);
  } else if (handler != SIG_IGN) {
    handler(signal);
  }
}

}  // namespace culprit::runtime

using culprit::runtime::kBsd;
using culprit::runtime::kSystemV;
using culprit::runtime::Real;
using culprit::runtime::real_sigaction;
using culprit::runtime::set_handler;
using culprit::runtime::shadow_of;

CULPRIT_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  if (culprit::runtime::papi_installs_handler() && action != nullptr) {
    const struct sigaction taken = culprit::runtime::take_papi_handler(signal, *action);
    return culprit::runtime::set_own_action(signal, taken, before);
  }
  int result = 0;
  if (culprit::runtime::change_guarded(real_sigaction.get(), signal, action, before, result)) return result;
  struct sigaction* shadow = shadow_of(signal);
  if (shadow == nullptr) return real_sigaction(signal, action, before);
  const struct sigaction old = *shadow;
  if (action != nullptr) *shadow = *action;
  if (before != nullptr) *before = old;
  return 0;
}

CULPRIT_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  static CULPRIT_REAL Real<sighandler_t(int, sighandler_t)> real{"signal"};
  return set_handler(real, number, handler, kBsd);
}

CULPRIT_EXPORT sighandler_t bsd_signal(int number, sighandler_t handler) noexcept {
  static CULPRIT_REAL Real<sighandler_t(int, sighandler_t)> real{"bsd_signal"};
  return set_handler(real, number, handler, kBsd);
}

CULPRIT_EXPORT sighandler_t ssignal(int number, sighandler_t handler) noexcept {
  static CULPRIT_REAL Real<sighandler_t(int, sighandler_t)> real{"ssignal"};
  return set_handler(real, number, handler, kBsd);
}

CULPRIT_EXPORT sighandler_t sysv_signal(int number, sighandler_t handler) noexcept {
  static CULPRIT_REAL Real<sighandler_t(int, sighandler_t)> real{"sysv_signal"};
  return set_handler(real, number, handler, kSystemV);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): what programs of strict standards call for signal
CULPRIT_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
  static CULPRIT_REAL Real<sighandler_t(int, sighandler_t)> real{"__sysv_signal"};
  return set_handler(real, number, handler, kSystemV);
}

CULPRIT_EXPORT int sigignore(int number) noexcept {
  static CULPRIT_REAL Real<int(int)> real{"sigignore"};
  if (number != SIGIO && shadow_of(number) == nullptr) return real(number);
  return signal(number, SIG_IGN) == SIG_ERR ? -1 : 0;
}
