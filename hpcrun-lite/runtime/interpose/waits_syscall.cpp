// syscall(): system calls by number. Those that a signal would break off are treated as their named functions
// are; all others jump to the C library's function with registers and stack as they came, since some (clone)
// do not return the way they were called.
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/interpose/confinement.hpp"
#include "runtime/interpose/privileges.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"
#include "runtime/system/system_calls.hpp"

#include <cstddef>
#include <cstdint>
#include <ctime>

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

constexpr unsigned kNumbers = 512;  // no processor has calls beyond

struct Watched {
  std::uint8_t call[kNumbers];
};

/// Calls that may wait, and those that decide what others do. Not fallocate: what writes the measurement, in
/// the handler too, comes by here.
constexpr int kWaitingCalls[] = {
    SYS_nanosleep,       SYS_clock_nanosleep, machine::kPoll,    SYS_ppoll,      machine::kSelect,
    machine::kEpollWait, SYS_epoll_pwait,     SYS_recvfrom,      SYS_recvmsg,    SYS_recvmmsg,
    SYS_accept,          SYS_accept4,         SYS_connect,       SYS_sendto,     SYS_sendmsg,
    SYS_msgrcv,          SYS_msgsnd,          SYS_semop,         SYS_semtimedop, SYS_futex,
    SYS_io_getevents,    SYS_io_uring_enter,  machine::kPause,   SYS_pselect6,   SYS_io_pgetevents,
    SYS_flock,           SYS_fcntl,           SYS_epoll_pwait2,  SYS_sendmmsg,   SYS_rt_sigtimedwait,
    SYS_splice,          SYS_vmsplice,        SYS_rt_sigsuspend, SYS_sendfile,   SYS_read,
    SYS_write,           SYS_getrandom,       SYS_readv,         SYS_writev,     SYS_pread64,
    SYS_preadv,          SYS_preadv2,         SYS_pwritev2,      SYS_close,      SYS_setsockopt,
    SYS_copy_file_range};

/// Calls that change what a thread may do, the flusher thread as well.
constexpr int kConfiningCalls[] = {SYS_prctl,    SYS_seccomp,   SYS_unshare,          SYS_setns,
                                   SYS_setuid,   SYS_setreuid,  SYS_setresuid,        SYS_setgid,
                                   SYS_setregid, SYS_setresgid, SYS_setgroups,        SYS_setfsuid,
                                   SYS_setfsgid, SYS_capset,    kLandlockRestrictSelf};

constexpr Watched watch() {
  Watched watched{};
  for (const int number : kWaitingCalls) {
    if (number >= 0) watched.call[number] = 1;
  }
  for (const int number : kConfiningCalls) watched.call[number] = 1;
  return watched;
}

/// A system call's arguments, by their usual letters.
struct Call {
  long number, a, b, c, d, e, f;
};

const timespec* time_at(long argument) {
  return reinterpret_cast<const timespec*>(argument);
}

long futex_operation(const Call& call) {
  constexpr long kOptions = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
  return call.b & ~kOptions;
}

/// What waiting in the call is waiting for. Locks, conditions and barriers that a language's library makes of
/// futexes (std::atomic::wait, Rust's) all look the same here.
CallMark::Kind wait_kind(const Call& call) {
  if (call.number != SYS_futex) return CallMark::work;
  switch (futex_operation(call)) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      return CallMark::condition;
    case FUTEX_LOCK_PI:
      return CallMark::lock;
    default:
      return CallMark::work;
  }
}

/// How long a futex call may wait; 0 where a signal does it no harm.
std::uint64_t futex_limit(const Call& call) {
  const long operation = futex_operation(call);
  if (call.d == 0) return 0;  // untimed waits are restarted
  if (operation == FUTEX_WAIT) return limit_if_readable(time_at(call.d));
  return operation == FUTEX_WAIT_BITSET ? BlockedCall::kForever : 0;
}

constexpr long kPresentPosition = -1;  // of a file, for pwritev2

/// Of a gathered read or write.
std::size_t length_in(const Call& call) {
  return length_of(reinterpret_cast<const iovec*>(call.b), static_cast<int>(call.c));
}

/// Of calls of sockets.
std::uint64_t socket_limit(const Call& call) {
  const auto descriptor = static_cast<int>(call.a);
  switch (call.number) {
    case SYS_recvmsg:
    case SYS_sendmsg:
      return forever_if(socket_waits(descriptor, static_cast<int>(call.c)));
    case SYS_recvfrom:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmmsg:
      return forever_if(socket_waits(descriptor, static_cast<int>(call.d)));
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
      return forever_if(!is_nonblocking(descriptor));
    default:
      return BlockedCall::kForever;
  }
}

/// Of calls of files and other descriptors (waits.def says what a signal does to each).
std::uint64_t descriptor_limit(const Call& call) {
  const auto descriptor = static_cast<int>(call.a);
  switch (call.number) {
    case SYS_read:
      return forever_if(reads_interruptibly(descriptor, static_cast<std::size_t>(call.c)));
    case SYS_write:
      return forever_if(writes_interruptibly(descriptor, static_cast<std::size_t>(call.c)));
    case SYS_pread64:
      return forever_if(reads_interruptibly(descriptor, static_cast<std::size_t>(call.c)));
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
      return forever_if(reads_interruptibly(descriptor, length_in(call)));
    case SYS_pwritev2:
      if (call.d != kPresentPosition) return 0;
      [[fallthrough]];
    case SYS_writev:
      return forever_if(!is_nonblocking(descriptor) && writes_interruptibly(descriptor, length_in(call)));
    case SYS_sendfile:
      return forever_if(static_cast<std::size_t>(call.d) > kWhole ||
                        writes_interruptibly(descriptor, static_cast<std::size_t>(call.d)));
    case SYS_copy_file_range:
      return forever_if(static_cast<std::size_t>(call.e) > kWhole);
    case SYS_close:
      return forever_if(may_linger(descriptor));
    case SYS_getrandom:
      return forever_if(static_cast<std::size_t>(call.b) > kWhole);
    case SYS_flock:
      return forever_if((call.b & LOCK_NB) == 0);
    case SYS_fcntl:
      return forever_if(call.b == F_SETLKW || call.b == F_OFD_SETLKW);
    case SYS_io_uring_enter:
      return forever_if(call.c > 0 && (call.d & IORING_ENTER_GETEVENTS) != 0);
    default:
      return socket_limit(call);
  }
}

/// How long the call may last, as far as a signal would break it off; 0 where it would not.
std::uint64_t call_limit(const Call& call) {
  switch (call.number) {
    case SYS_nanosleep:
      return limit_if_readable(time_at(call.a));
    case machine::kPoll:
      return limit_of_ms(static_cast<int>(call.c));
    case SYS_ppoll:
    case SYS_rt_sigtimedwait:
      return limit_if_readable(time_at(call.c));
    case SYS_epoll_pwait2:
      return limit_if_readable(time_at(call.d));
    case SYS_pselect6:
    case SYS_io_pgetevents:
      return limit_if_readable(time_at(call.e));
    case machine::kEpollWait:
    case SYS_epoll_pwait:
      return limit_of_ms(static_cast<int>(call.d));
    case machine::kSelect:
      return limit_if_readable(reinterpret_cast<const timeval*>(call.e));
    case SYS_futex:
      return futex_limit(call);
    case SYS_prctl:
    case SYS_seccomp:
    case SYS_setsockopt:
      return 0;
    default:
      return descriptor_limit(call);
  }
}

/// A call's own copy of the signals that it names, with ours among those that it blocks while it waits, and
/// not among those that it waits for. What cannot be read is passed on: the kernel says so.
class Signals {
 public:
  explicit Signals(Call& call) {
    if (!process.active) return;
    switch (call.number) {
      case SYS_ppoll:
        replace(call.d, true);
        return;
      case SYS_epoll_pwait:
      case SYS_epoll_pwait2:
        replace(call.e, true);
        return;
      case SYS_rt_sigsuspend:
        replace(call.a, true);
        return;
      case SYS_rt_sigtimedwait:
        replace(call.a, false);
        return;
      case SYS_pselect6:
      case SYS_io_pgetevents:
        replace_passed(call.f);
        return;
      default:
        return;
    }
  }

 private:
  /// As these two take it: where the mask is, and how large.
  struct Passed {
    long mask;
    std::size_t size;
  };

  void replace(long& argument, bool blocked) {
    if (argument == 0 || !is_readable(argument, sizeof mask_)) return;
    const KernelMask given = *reinterpret_cast<const KernelMask*>(argument);
    mask_ = blocked ? given | process.mask : given & ~process.mask;
    argument = word(&mask_);
  }

  void replace_passed(long& argument) {
    if (argument == 0 || !is_readable(argument, sizeof passed_)) return;
    passed_ = *reinterpret_cast<const Passed*>(argument);
    replace(passed_.mask, true);
    argument = word(&passed_);
  }

  KernelMask mask_ = 0;
  Passed passed_{};
};

bool confines(const Call& call) {
  return (call.number == SYS_prctl && confines_by_prctl(call.a, call.b, call.c)) ||
         (call.number == SYS_seccomp && confines_by_seccomp(call.a, call.c));
}

using Function = long (*)(long, long, long, long, long, long, long);
CULPRIT_REAL Real<long(long, long, long, long, long, long, long)> real{"syscall"};

long make(const Call& call) {
  return real(call.number, call.a, call.b, call.c, call.d, call.e, call.f);
}

/// Whether the kernel fails the call with EINTR even where it does not wait.
bool looks_at_signals(const Call& call) {
  return call.number == machine::kPoll || call.number == SYS_ppoll || call.number == machine::kSelect ||
         call.number == SYS_pselect6;
}

/// Makes the call, with our signal held back where that would break it off.
long call_watched(Call& call) {
  const std::uint64_t limit = call_limit(call);
  if (limit == 0 && !looks_at_signals(call)) return make(call);
  if (limit == 0) {
    const Signals signals(call);
    return look([&call] { return make(call); });
  }
  const BlockedCall blocked(real.address(), limit);
  const Signals signals(call);
  return make(call);
}

bool enters_namespace(const Call& call) {
  return call.number == SYS_unshare || call.number == SYS_setns;
}

/// Makes a call that concerns the flusher thread, too.
long change_process(const Call& call) {
  if (enters_namespace(call)) {
    const WithoutFlusher alone;
    return make(call);
  }
  const long result = make(call);
  if (result >= 0) follow_privileges({call.number, {call.a, call.b, call.c, call.d, call.e}});
  return result;
}

}  // namespace

extern "C" {
// NOLINTBEGIN(misc-use-internal-linkage,readability-function-size): the code below names them
__attribute__((visibility("hidden"))) extern const Watched culprit_watched_calls;
constinit const Watched culprit_watched_calls = watch();
__attribute__((visibility("hidden"))) Function culprit_real_syscall = nullptr;

/// A watched call.
__attribute__((visibility("hidden"))) long culprit_watched_call(long number, long a, long b, long c, long d,
                                                                long e, long f) {
  Call call{number, a, b, c, d, e, f};
  if (confines(call)) end_before_confinement();
  if (call.number == SYS_setsockopt) note_socket_option(static_cast<int>(call.b), static_cast<int>(call.c));
  if (enters_namespace(call) || gives_privileges_away(number, a)) return change_process(call);
  const CallMark::Kind kind = wait_kind(call);
  if (kind == CallMark::work) return call_watched(call);
  const CallMark mark(kind, real.address());
  return call_watched(call);
}

/// The first of the other calls: from then on the address of the C library's function is known.
__attribute__((visibility("hidden"))) long culprit_first_call(long number, long a, long b, long c, long d,
                                                              long e, long f) {
  culprit_real_syscall = real.get();
  return real(number, a, b, c, d, e, f);
}
// NOLINTEND(misc-use-internal-linkage,readability-function-size)
}

__asm__(CULPRIT_SYSCALL_ENTRY);

}  // namespace culprit::runtime
