// The sampling signals are ours: a program that gives every signal a handler, as some do, keeps its handler
// in a shadow, which is called for signals that no event of ours sent.
#include "runtime/sampling/papi_sampling.hpp"
#include "runtime/sampling/program_signals.hpp"
#include "runtime/system/c_library.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cerrno>
#include <csignal>

namespace culprit::runtime {
namespace {

/// signal() and its kin, which differ in the flags that they stand for. They never reach sigaction by its
/// name.
sighandler_t set_handler(Real<sighandler_t(int, sighandler_t)>& real, int number, sighandler_t handler,
                         int flags) {
  if (!is_guarded(number) && shadow_of(number) == nullptr) return real(number, handler);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

constexpr int kBsd = SA_RESTART;
constexpr int kSystemV = static_cast<int>(SA_RESETHAND | SA_NODEFER);

}  // namespace

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
    return culprit::runtime::set_own_action(signal, &taken, before);
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

// NOLINTBEGIN(bugprone-reserved-identifier): the last is what programs of strict standards call for signal
#define CULPRIT_SETS_HANDLER(name, flags)                                       \
  CULPRIT_EXPORT sighandler_t name(int number, sighandler_t handler) noexcept { \
    static CULPRIT_REAL Real<sighandler_t(int, sighandler_t)> real{#name};      \
    return set_handler(real, number, handler, flags);                           \
  }

CULPRIT_SETS_HANDLER(signal, kBsd)
CULPRIT_SETS_HANDLER(bsd_signal, kBsd)
CULPRIT_SETS_HANDLER(ssignal, kBsd)
CULPRIT_SETS_HANDLER(sysv_signal, kSystemV)
CULPRIT_SETS_HANDLER(__sysv_signal, kSystemV)
// NOLINTEND(bugprone-reserved-identifier)

CULPRIT_EXPORT int sigignore(int number) noexcept {
  static CULPRIT_REAL Real<int(int)> real{"sigignore"};
  if (!culprit::runtime::is_guarded(number) && shadow_of(number) == nullptr) return real(number);
  return signal(number, SIG_IGN) == SIG_ERR ? -1 : 0;
}
