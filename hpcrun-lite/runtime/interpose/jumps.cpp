// A jump out of a handler that interrupted a blocking call leaves the signal held back, unless the jump
// restores the mask of signals: sampling of the thread would rest until the next such call.
#include "runtime/sampling/parking.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <csetjmp>
#include <csignal>

namespace culprit::runtime {
namespace {

using Jump = void(__jmp_buf_tag*, int);

/// What was held back arrives here, while the call is still on the stack. Should the jump stay inside of the
/// handler, then its return holds the signal back again, and the end of the call lets it go.
void let_go() {
  if (culprit_rt_thread.parked) unpark();
  culprit_rt_thread.ends_below = 0;
  Thread* thread = this_thread();
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

CULPRIT_EXPORT __attribute__((noreturn)) void longjmp(__jmp_buf_tag* place, int value) noexcept {
  static CULPRIT_REAL Real<Jump> real{"longjmp"};
  let_go();
  real(place, value);
  __builtin_unreachable();
}

CULPRIT_EXPORT __attribute__((noreturn)) void _longjmp(__jmp_buf_tag* place, int value) noexcept {
  static CULPRIT_REAL Real<Jump> real{"_longjmp"};
  let_go();
  real(place, value);
  __builtin_unreachable();
}

CULPRIT_EXPORT __attribute__((noreturn)) void siglongjmp(__jmp_buf_tag* place, int value) noexcept {
  static CULPRIT_REAL Real<Jump> real{"siglongjmp"};
  let_go();
  real(place, value);
  __builtin_unreachable();
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): what fortified programs call
CULPRIT_EXPORT __attribute__((noreturn)) void __longjmp_chk(__jmp_buf_tag* place, int value) noexcept {
  static CULPRIT_REAL Real<Jump> real{"__longjmp_chk"};
  let_go();
  real(place, value);
  __builtin_unreachable();
}
