// The sampling signal is ours: a program that gives every signal a handler, as some do, keeps its handler in
// a shadow, which is called for signals that are not a timer's.
#include "runtime/export.hpp"
#include "runtime/process.hpp"
#include "runtime/real.hpp"
#include "runtime/shadow_action.hpp"

#include <cerrno>
#include <csignal>

namespace culprit::runtime {

namespace {
struct sigaction shadow {};  // all zero is the default action
}  // namespace

void act_in_shadow(int signal, siginfo_t* info, void* context) {
  if ((shadow.sa_flags & SA_SIGINFO) != 0 && shadow.sa_sigaction != nullptr) {
    shadow.sa_sigaction(signal, info, context);
  } else if (shadow.sa_handler != SIG_DFL && shadow.sa_handler != SIG_IGN) {
    shadow.sa_handler(signal);
  }
}

}  // namespace culprit::runtime

using culprit::runtime::process;
using culprit::runtime::Real;
using culprit::runtime::shadow;

CULPRIT_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  static Real<int(int, const struct sigaction*, struct sigaction*)> real{"sigaction"};
  if (!process.active || signal != process.signal) return real(signal, action, before);
  const struct sigaction old = shadow;
  if (action != nullptr) shadow = *action;
  if (before != nullptr) *before = old;
  return 0;
}

CULPRIT_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  static Real<sighandler_t(int, sighandler_t)> real{"signal"};
  if (!process.active || number != process.signal) return real(number, handler);
  const sighandler_t old = shadow.sa_handler;
  shadow = {};
  shadow.sa_handler = handler;
  return old;
}
