// The sampling signals are ours: a program that gives every signal a handler, as some do, keeps its handler
// in a shadow, which is called for signals that no event of ours sent.
#include "runtime/export.hpp"
#include "runtime/full_queue.hpp"
#include "runtime/papi_sampling.hpp"
#include "runtime/process.hpp"
#include "runtime/real.hpp"
#include "runtime/shadow_action.hpp"

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
}  // namespace

void act_in_shadow(int signal, siginfo_t* info, void* context) {
  const struct sigaction& shadow = shadows[signal == process.signal ? 0 : 1];
  if ((shadow.sa_flags & SA_SIGINFO) != 0 && shadow.sa_sigaction != nullptr) {
    shadow.sa_sigaction(signal, info, context);
  } else if (shadow.sa_handler != SIG_DFL && shadow.sa_handler != SIG_IGN) {
    shadow.sa_handler(signal);
  }
}

}  // namespace culprit::runtime

using culprit::runtime::Real;
using culprit::runtime::shadow_of;

CULPRIT_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  static Real<int(int, const struct sigaction*, struct sigaction*)> real{"sigaction"};
  if (culprit::runtime::papi_installs_handler() && action != nullptr) {
    const struct sigaction taken = culprit::runtime::take_papi_handler(signal, *action);
    return real(signal, &taken, before);
  }
  int result = 0;
  if (culprit::runtime::change_guarded(real.get(), signal, action, before, result)) return result;
  struct sigaction* shadow = shadow_of(signal);
  if (shadow == nullptr) return real(signal, action, before);
  const struct sigaction old = *shadow;
  if (action != nullptr) *shadow = *action;
  if (before != nullptr) *before = old;
  return 0;
}

CULPRIT_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  static Real<sighandler_t(int, sighandler_t)> real{"signal"};
  if (number == SIGIO) {  // what signal() is short for
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
  }
  struct sigaction* shadow = shadow_of(number);
  if (shadow == nullptr) return real(number, handler);
  const sighandler_t old = shadow->sa_handler;
  *shadow = {};
  shadow->sa_handler = handler;
  return old;
}
