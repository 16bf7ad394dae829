// Interposes the calls by which a program restricts itself. Before it installs a filter of system calls
// (seccomp), which might end it at a call of the runtime's, or has system calls handed to itself (system-call
// user dispatch), sampling ends and the measurement is sealed.
// While it enters a namespace that only a process of one thread may enter, the flusher thread is dismissed.
#include "runtime/interpose/confinement.hpp"

#include "runtime/interpose/privileges.hpp"
#include "runtime/life/process_end.hpp"
#include "runtime/recording/flusher.hpp"
#include "runtime/sampling/start_stop.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>

#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>

namespace culprit::runtime {

void end_before_confinement() {
  forget_crashes();
  if (!own_process() || process.ended.load(std::memory_order_acquire)) return;
  if (file.open()) file.note("the program restricted its own system calls: nothing is recorded from then on");
  end_sampling();
  end_process(measurement::EndReason::exit);
  await_flusher();
  culprit_rt_thread.state = nullptr;
  process.active = false;  // from here on, even asking for the process id may be deadly
}

bool confines_by_prctl(long option, long mode, long filter) {
  constexpr long kSetUserDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH, which older headers lack
  constexpr long kDispatchOff = 0;
  if (option == kSetUserDispatch) return mode != kDispatchOff;
  return option == PR_SET_SECCOMP && (mode != SECCOMP_MODE_FILTER || filter != 0);
}

bool confines_by_seccomp(long operation, long filter) {
  return operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && filter != 0);
}

}  // namespace culprit::runtime

CULPRIT_EXPORT int prctl(int option, ...) noexcept {
  using Word = unsigned long;
  static CULPRIT_REAL culprit::runtime::Real<int(int, Word, Word, Word, Word)> real{"prctl"};
  va_list list;
  va_start(list, option);
  Word words[4];
  for (Word& word : words) word = va_arg(list, Word);  // read as the C library does, given or not
  va_end(list);
  if (culprit::runtime::confines_by_prctl(option, static_cast<long>(words[0]), static_cast<long>(words[1])))
    culprit::runtime::end_before_confinement();
  const int result = real(option, words[0], words[1], words[2], words[3]);
  if (result >= 0 && culprit::runtime::gives_privileges_away(SYS_prctl, option)) {
    const auto [a, b, c, d] = words;
    culprit::runtime::follow_privileges(
        {SYS_prctl,
         {option, static_cast<long>(a), static_cast<long>(b), static_cast<long>(c), static_cast<long>(d)}});
  }
  return result;
}

namespace culprit::runtime {

WithoutFlusher::WithoutFlusher() : own_(own_process()) {
  if (!own_) return;
  mask_ = change_mask(SIG_BLOCK, process.mask);
  dismissed_ = dismiss_flusher();
}

WithoutFlusher::~WithoutFlusher() {
  if (!own_) return;
  const int error = errno;
  if (dismissed_) start_flusher();
  change_mask(SIG_SETMASK, mask_);
  errno = error;
}

}  // namespace culprit::runtime

using culprit::runtime::Real;
using culprit::runtime::WithoutFlusher;

CULPRIT_EXPORT int unshare(int flags) noexcept {
  static CULPRIT_REAL Real<int(int)> real{"unshare"};
  const WithoutFlusher alone;
  return real(flags);
}

CULPRIT_EXPORT int setns(int descriptor, int kind) noexcept {
  static CULPRIT_REAL Real<int(int, int)> real{"setns"};
  const WithoutFlusher alone;
  return real(descriptor, kind);
}
