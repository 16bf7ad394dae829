// Interposes the calls by which a program gives privileges away (setuid and its kin, capabilities). The C
// library changes all threads that it knows; the flusher thread, which it does not know, repeats the call.
// It is not dismissed: begun again, it could not open the measurement that the process may no longer open.
#include "runtime/interpose/privileges.hpp"

#include "runtime/recording/flusher.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"
#include "runtime/system/system_calls.hpp"

#include <cerrno>
#include <csignal>

#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

/// What the kernel is to change of the calling thread, whatever its number was.
RepeatedCall of_itself(const RepeatedCall& call, __user_cap_header_struct& header) {
  if (call.number != SYS_capset || call.words[0] == 0) return call;
  RepeatedCall own = call;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an argument of a system call that succeeded
  header = *reinterpret_cast<const __user_cap_header_struct*>(call.words[0]);
  header.pid = 0;
  own.words[0] = word(&header);
  return own;
}

}  // namespace

bool gives_privileges_away(long number, long option) {
  switch (number) {
    case SYS_setuid:
    case SYS_setreuid:
    case SYS_setresuid:
    case SYS_setgid:
    case SYS_setregid:
    case SYS_setresgid:
    case SYS_setgroups:
    case SYS_setfsuid:
    case SYS_setfsgid:
    case SYS_capset:
    case kLandlockRestrictSelf:
      return true;
    case SYS_prctl:
      return option == PR_SET_NO_NEW_PRIVS || option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT ||
             option == PR_SET_SECUREBITS || option == PR_SET_KEEPCAPS;
    default:
      return false;
  }
}

void follow_privileges(const RepeatedCall& call) {
  if (!own_process() || !flusher_runs()) return;
  const int error = errno;
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  __user_cap_header_struct header{};
  // What it cannot repeat (its descriptors are others: landlock) a new one has from the calling thread.
  if (!repeat_in_flusher(of_itself(call, header)) && dismiss_flusher()) start_flusher();
  change_mask(SIG_SETMASK, before);
  errno = error;
}

}  // namespace culprit::runtime

using culprit::runtime::follow_privileges;
using culprit::runtime::Real;
using culprit::runtime::word;

// NOLINTBEGIN(bugprone-macro-parentheses): lists of parameters in parentheses
/// `number`: of the system call, and its arguments; `done`: whether the call changed something.
#define CULPRIT_GIVES_AWAY(name, parameters, arguments, done, number, ...) \
  CULPRIT_EXPORT int name parameters noexcept {                            \
    static CULPRIT_REAL Real<int parameters> real{#name};                  \
    const int result = real arguments;                                     \
    if (done) follow_privileges({number, {__VA_ARGS__}});                  \
    return result;                                                         \
  }

CULPRIT_GIVES_AWAY(setuid, (uid_t user), (user), result == 0, SYS_setuid, user)
CULPRIT_GIVES_AWAY(seteuid, (uid_t user), (user), result == 0, SYS_setresuid, -1, user, -1)
CULPRIT_GIVES_AWAY(setreuid, (uid_t real_user, uid_t user), (real_user, user), result == 0, SYS_setreuid,
                   real_user, user)
CULPRIT_GIVES_AWAY(setresuid, (uid_t real_user, uid_t user, uid_t saved), (real_user, user, saved),
                   result == 0, SYS_setresuid, real_user, user, saved)
CULPRIT_GIVES_AWAY(setgid, (gid_t group), (group), result == 0, SYS_setgid, group)
CULPRIT_GIVES_AWAY(setegid, (gid_t group), (group), result == 0, SYS_setresgid, -1, group, -1)
CULPRIT_GIVES_AWAY(setregid, (gid_t real_group, gid_t group), (real_group, group), result == 0, SYS_setregid,
                   real_group, group)
CULPRIT_GIVES_AWAY(setresgid, (gid_t real_group, gid_t group, gid_t saved), (real_group, group, saved),
                   result == 0, SYS_setresgid, real_group, group, saved)
CULPRIT_GIVES_AWAY(setgroups, (std::size_t count, const gid_t* groups), (count, groups), result == 0,
                   SYS_setgroups, static_cast<long>(count), word(groups))
CULPRIT_GIVES_AWAY(capset, (__user_cap_header_struct * header, const __user_cap_data_struct* data),
                   (header, data), result == 0, SYS_capset, word(header), word(data))
// These return what was before, whether or not they change it.
CULPRIT_GIVES_AWAY(setfsuid, (uid_t user), (user), true, SYS_setfsuid, user)
CULPRIT_GIVES_AWAY(setfsgid, (gid_t group), (group), true, SYS_setfsgid, group)
// NOLINTEND(bugprone-macro-parentheses)

CULPRIT_EXPORT int initgroups(const char* user, gid_t group) {
  static CULPRIT_REAL Real<int(const char*, gid_t)> real{"initgroups"};
  const int result = real(user, group);
  constexpr long kMost = 1024;
  gid_t groups[kMost];
  const long count = result == 0 ? culprit::runtime::system_call(SYS_getgroups, kMost, word(groups)) : -1;
  // More than these: a call that cannot be repeated, so that a new flusher thread begins with them.
  if (result == 0) follow_privileges({SYS_setgroups, {count, word(groups)}});
  return result;
}
