// The ways to end a process that run no destructors; process_life.cpp has the others.
#include "runtime/api.hpp"
#include "runtime/life/process_life.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <csignal>
#include <cstdlib>

#include <unistd.h>

namespace {

using culprit::measurement::EndReason;
using culprit::runtime::end_process;
using culprit::runtime::own_process;
using culprit::runtime::Real;

CULPRIT_REAL constinit Real<void(int)> real_exit{"_exit"};
CULPRIT_REAL constinit Real<void(int)> real_c99_exit{"_Exit"};
CULPRIT_REAL constinit Real<void()> real_abort{"abort"};

/// True if abort() will end the process: a handler of the program's own may yet jump away. (Ignoring the
/// signal does not help against abort.)
bool abort_is_deadly() {
  struct sigaction action {};
  return sigaction(SIGABRT, nullptr, &action) == 0 &&
         (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

}  // namespace

CULPRIT_EXPORT __attribute__((noreturn)) void _exit(int status) {
  if (own_process()) end_process(EndReason::quick_exit);
  real_exit(status);
  __builtin_unreachable();
}

CULPRIT_EXPORT __attribute__((noreturn)) void _Exit(int status) {
  if (own_process()) end_process(EndReason::quick_exit);
  real_c99_exit(status);
  __builtin_unreachable();
}

CULPRIT_EXPORT __attribute__((noreturn)) void abort() noexcept {
  if (own_process() && abort_is_deadly()) end_process(EndReason::abort);
  real_abort();
  __builtin_unreachable();
}

void culprit_rt_abort() {
  if (own_process()) end_process(EndReason::abort);
}
