// The ways to end a process that run no destructors; process_life.cpp has the others.
#include "runtime/api.hpp"
#include "runtime/life/process_end.hpp"
#include "runtime/recording/announced_abort.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/sampling/program_signals.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include <unistd.h>

namespace {

using culprit::measurement::EndReason;
using culprit::runtime::end_by_abort;
using culprit::runtime::end_process;
using culprit::runtime::own_process;
using culprit::runtime::Real;

CULPRIT_REAL constinit Real<void(int)> real_exit{"_exit"};
CULPRIT_REAL constinit Real<void(int)> real_c99_exit{"_Exit"};
CULPRIT_REAL constinit Real<void()> real_abort{"abort"};
CULPRIT_REAL constinit Real<void(const char*, const char*, unsigned, const char*)> real_assert_fail{
    "__assert_fail"};

/// True if abort() will end the process at once: a handler of the program's own, or of its MPI library, runs
/// before, and may yet jump away. (Ignoring the signal does not help against abort.)
bool abort_is_deadly() {
  struct sigaction action {};
  return sigaction(SIGABRT, nullptr, &action) == 0 &&
         (action.sa_handler == SIG_IGN || culprit::runtime::takes_default_action(SIGABRT, action));
}

/// Before abort() in a function of ours whose frame this is.
void before_abort(const void* frame) {
  if (!own_process()) return;
  if (abort_is_deadly()) {
    end_by_abort();
    culprit::runtime::leave_default_action(SIGABRT);  // a second frame may not fit on the stack
  } else {
    culprit::runtime::announce_abort(reinterpret_cast<std::uintptr_t>(frame));
  }
}

}  // namespace

CULPRIT_EXPORT __attribute__((noreturn)) void _exit(int status) {
  if (own_process()) end_process(EndReason::quick_exit, status);
  real_exit(status);
  __builtin_unreachable();
}

CULPRIT_EXPORT __attribute__((noreturn)) void _Exit(int status) {
  if (own_process()) end_process(EndReason::quick_exit, status);
  real_c99_exit(status);
  __builtin_unreachable();
}

CULPRIT_EXPORT __attribute__((noreturn)) void abort() noexcept {
  before_abort(__builtin_frame_address(0));
  real_abort();
  __builtin_unreachable();
}

// A failed assert calls the C library's own abort, past the one above.
// NOLINTNEXTLINE(bugprone-reserved-identifier): a name of the C library
CULPRIT_EXPORT __attribute__((noreturn)) void __assert_fail(const char* assertion, const char* file,
                                                            unsigned line, const char* function) noexcept {
  before_abort(__builtin_frame_address(0));
  real_assert_fail(assertion, file, line, function);
  __builtin_unreachable();
}

void culprit_rt_abort() {
  if (own_process()) end_by_abort();
}

// A jump out of a handler that interrupted a blocking call leaves the signal held back, unless the jump
// restores the mask of signals: sampling of the thread would rest until the next such call.

namespace culprit::runtime {
namespace {

using Jump = void(__jmp_buf_tag*, int);

/// What was held back arrives here, while the call is still on the stack. Should the jump stay inside of the
/// handler, then its return holds the signal back again, and the end of the call lets it go.
void let_go() {
  if (culprit_rt_thread.parked) unpark();
  culprit_rt_thread.ends_below = 0;
  if (culprit_rt_thread.aborts_below != 0) take_abort_back();
  Thread* thread = this_thread();
  if (culprit_rt_thread.counted && thread != nullptr) leave_outside(thread);
  if (thread == nullptr || thread->blocked_from == 0 || !own_process()) return;
  thread->blocked_from = 0;
  thread->blocked_call = true;
  change_mask(SIG_UNBLOCK, process.mask);
  thread->blocked_call = false;
}

}  // namespace
}  // namespace culprit::runtime

using culprit::runtime::Jump;
using culprit::runtime::let_go;
using culprit::runtime::Real;

// NOLINTBEGIN(bugprone-reserved-identifier): names of the C library; the last is what fortified programs call
#define CULPRIT_JUMP(name)                                                                       \
  CULPRIT_EXPORT __attribute__((noreturn)) void name(__jmp_buf_tag* place, int value) noexcept { \
    static CULPRIT_REAL Real<Jump> real{#name};                                                  \
    let_go();                                                                                    \
    real(place, value);                                                                          \
    __builtin_unreachable();                                                                     \
  }

CULPRIT_JUMP(longjmp)
CULPRIT_JUMP(_longjmp)
CULPRIT_JUMP(siglongjmp)
CULPRIT_JUMP(__longjmp_chk)
// NOLINTEND(bugprone-reserved-identifier)
