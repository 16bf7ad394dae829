// The interposed functions that may wait, made from the table in waits.def; and those of their kind that need
// more than a line of it. waits_syscall.cpp has syscall().
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/recording/moved_bytes.hpp"
#include "runtime/recording/published_calls.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"
#include "runtime/system/system_calls.hpp"

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <ctime>

#include <aio.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <termios.h>
#include <threads.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

constexpr std::uint64_t kForever = BlockedCall::kForever;

/// The timeout of a look.
constexpr timespec kNoTime{};

/// Whether a call for a semaphore with this time need not wait: it has got it. A call that is given another
/// time fails, however free the semaphore may be. Like the C library's own, a cancellation point.
bool takes_at_once(sem_t* semaphore, const timespec* until) {
  if (until->tv_nsec < 0 || static_cast<std::uint64_t>(until->tv_nsec) >= kSecond) return false;
  pthread_testcancel();
  const int error = errno;
  const bool taken = sem_trywait(semaphore) == 0;
  errno = error;
  return taken;
}

/// Whether a set is there to be changed: of what cannot be read, the kernel says so. Only the kernel's part
/// of it is read.
bool is_given(const sigset_t* set) {
  return set != nullptr && is_readable(word(set), sizeof(KernelMask));
}

/// A mask that a call installs while it waits, with our signals added: they would break the wait otherwise.
class WithOurs {
 public:
  explicit WithOurs(const sigset_t* given) : given_(given) {
    if (!is_given(given)) return;
    set_mask(mask_, mask_in(*given) | process.mask);
    given_ = &mask_;
  }
  [[nodiscard]] const sigset_t* get() const { return given_; }

 private:
  const sigset_t* given_;
  sigset_t mask_{};
};

/// The signals that a call waits for, without ours.
class WithoutOurs {
 public:
  explicit WithoutOurs(const sigset_t* given) : given_(given) {
    if (!is_given(given)) return;
    set_mask(set_, mask_in(*given) & ~process.mask);
    given_ = &set_;
  }
  [[nodiscard]] const sigset_t* get() const { return given_; }

 private:
  const sigset_t* given_;
  sigset_t set_{};
};

/// Whether a call for the lock would not wait, be it that the thread has the lock and may take it again. The
/// fields are declared by glibc's public headers, for static initializers, and are 0 in a mutex that is free.
bool is_free(const pthread_mutex_t* mutex) {
  if (__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 0) return true;
  constexpr int kType = 3;
  const Thread* thread = this_thread();
  return (mutex->__data.__kind & kType) == PTHREAD_MUTEX_RECURSIVE && thread != nullptr &&
         __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) == thread->tid;
}

/// C11's mutexes are POSIX mutexes under another name.
bool is_free(const mtx_t* mutex) {
  static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t));
  return is_free(reinterpret_cast<const pthread_mutex_t*>(mutex));
}

/// glibc's bits of a lock's readers (pthread_rwlock_common.c).
constexpr unsigned kWriteLocked = 2, kReaders = ~7U;

bool is_free_to_read(const pthread_rwlock_t* lock) {
  return (__atomic_load_n(&lock->__data.__readers, __ATOMIC_RELAXED) & kWriteLocked) == 0;
}

bool is_free_to_write(const pthread_rwlock_t* lock) {
  return (__atomic_load_n(&lock->__data.__readers, __ATOMIC_RELAXED) & (kWriteLocked | kReaders)) == 0;
}

bool is_free(const pthread_spinlock_t* lock) {
  return *lock == machine::kFreeSpinLock;
}

/// Calls fcntl(), which waits for locks of files as flock() does. With at most one word more: which it is,
/// the command decides, and passing on what is none does no harm.
int control_file(Real<int(int, int, void*)>& real, int descriptor, int command, void* argument) {
  if (command != F_SETLKW && command != F_OFD_SETLKW) return real(descriptor, command, argument);
  const BlockedCall call(real.address(), kForever);
  return real(descriptor, command, argument);
}

/// Where glibc notes the thread that holds a mutex; null for what is no mutex.
const int* owner_of(const pthread_mutex_t* mutex) {
  return &mutex->__data.__owner;
}
const int* owner_of(const mtx_t* mutex) {
  return owner_of(reinterpret_cast<const pthread_mutex_t*>(mutex));
}
const int* owner_of(const volatile void* /*lock*/) {
  return nullptr;
}

/// The lock that a call is for: its first argument.
template <typename Lock, typename... Others>
AwaitedLock lock_among(Lock* lock, Others... /*others*/) {
  const int* const owner = owner_of(lock);
  return {
      .address = reinterpret_cast<std::uintptr_t>(lock),
      .owner = owner == nullptr ? 0 : static_cast<std::uint32_t>(__atomic_load_n(owner, __ATOMIC_RELAXED)),
      .owner_at = reinterpret_cast<std::uintptr_t>(owner)};
}

template <typename First, typename... Others>
constexpr First first_of(First first, Others... /*others*/) {
  return first;
}

/// Calls a function that waits for a lock. Not inlined: its frame is what the mark lies in.
template <typename Signature>
struct WaitForLock {
  Real<Signature>& real;

  template <typename Lock, typename... Arguments>
  __attribute__((noinline)) int operator()(Lock lock, Arguments... arguments) const {
    const CallMark mark(CallMark::lock, real.address());
    const PublishedLockWait published(lock_among(lock, arguments...));
    LockWait wait(const_cast<const void*>(static_cast<const volatile void*>(lock)));
    const int result = real(lock, arguments...);
    wait.end(result == 0 || result == EOWNERDEAD);
    return result;
  }
};

/// To wait for a condition is to give the mutex back.
void give_back(const void* mutex) {
  if (!locks::anybody_waits()) return;
  if (const std::uint64_t owed = settle_lock(mutex, 1); owed != 0) charge_lock_wait(mutex, owed);
}

}  // namespace
}  // namespace culprit::runtime

using namespace culprit::runtime;

// NOLINTBEGIN(bugprone-macro-parentheses,bugprone-reserved-identifier): lists of parameters in parentheses;
// names of the C library
#define CANCELLABLE
#define CULPRIT_BEGIN(result, name, parameters, exceptions) \
  CULPRIT_EXPORT result name parameters exceptions {        \
    static CULPRIT_REAL Real<result parameters> real{#name};

#define CULPRIT_BLOCKS(result, name, parameters, exceptions, arguments, limit) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                          \
  forget_left_marks(__builtin_dwarf_cfa());                                    \
  const BlockedCall call(real.address(), limit);                               \
  return real arguments;                                                       \
  }

#define CULPRIT_MAY_BLOCK(result, name, parameters, exceptions, arguments, limit) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                             \
  forget_left_marks(__builtin_dwarf_cfa());                                       \
  return hold_back(real.address(), limit, [&] { return real arguments; });        \
  }

#define CULPRIT_AWAITS_OTHERS(result, name, parameters, exceptions, arguments, limit, watches) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                                          \
  forget_left_marks(__builtin_dwarf_cfa());                                                    \
  const std::uint64_t most = limit;                                                            \
  if (most == 0) return look([=] { return real arguments; });                                  \
  const OutsideWait outside(watches);                                                          \
  const BlockedCall call(real.address(), most);                                                \
  return real arguments;                                                                       \
  }

#define CULPRIT_POLLS(result, name, parameters, exceptions, arguments, limit, watches, at_once) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                                           \
  forget_left_marks(__builtin_dwarf_cfa());                                                     \
  const std::uint64_t most = limit;                                                             \
  if (most == 0) return look([=] { return real arguments; });                                   \
  return [=]() __attribute__((noinline))->result {                                              \
    if ((watches) && this_thread() != nullptr) {                                                \
      const result found = look([=] { return real at_once; });                                  \
      if (found != 0) return found;                                                             \
    }                                                                                           \
    const OutsideWait outside(watches);                                                         \
    const BlockedCall call(real.address(), most);                                               \
    return real arguments;                                                                      \
  }                                                                                             \
  ();                                                                                           \
  }

#define CULPRIT_RECEIVES(result, name, parameters, exceptions, arguments, at_once) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                              \
  forget_left_marks(__builtin_dwarf_cfa());                                        \
  if ((flags & MSG_DONTWAIT) != 0) return real arguments;                          \
  const int error = errno;                                                         \
  if (receives_at_once(flags)) {                                                   \
    const result got = real at_once;                                               \
    if (got >= 0 || errno != EAGAIN || is_nonblocking(descriptor)) return got;     \
    errno = error;                                                                 \
  } else if (is_nonblocking(descriptor)) {                                         \
    return real arguments;                                                         \
  }                                                                                \
  const OutsideWait outside;                                                       \
  const BlockedCall call(real.address(), kForever);                                \
  return real arguments;                                                           \
  }

#define CULPRIT_READS(result, name, parameters, exceptions, arguments, limit) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                         \
  forget_left_marks(__builtin_dwarf_cfa());                                   \
  const result moved = [&]() __attribute__((always_inline))->result {         \
    const EndOfWait end;                                                      \
    const std::uint64_t most = limit;                                         \
    if (most == 0) return real arguments;                                     \
    const OutsideWait outside;                                                \
    const BlockedCall call(real.address(), most);                             \
    return real arguments;                                                    \
  }                                                                           \
  ();                                                                         \
  count_bytes(Direction::read, moved, CULPRIT_INTERPOSED(real));              \
  return moved;                                                               \
  }

#define CULPRIT_WRITES(result, name, parameters, exceptions, arguments, limit)           \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                                    \
  forget_left_marks(__builtin_dwarf_cfa());                                              \
  const result moved = hold_back(real.address(), limit, [&] { return real arguments; }); \
  count_bytes(Direction::written, moved, CULPRIT_INTERPOSED(real));                      \
  return moved;                                                                          \
  }

#define CULPRIT_MARKS(result, name, parameters, exceptions, arguments, kind) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                        \
  const CallMark mark(CallMark::kind, real.address());                       \
  return real arguments;                                                     \
  }

#define CULPRIT_JOINS(result, name, parameters, exceptions, arguments) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                  \
  note_join(first_of arguments);                                       \
  const CallMark mark(CallMark::join, real.address());                 \
  return real arguments;                                               \
  }

#define CULPRIT_GIVES_BACK(result, name, parameters, exceptions, arguments, mutex) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                              \
  give_back(mutex);                                                                \
  const CallMark mark(CallMark::condition, real.address());                        \
  return real arguments;                                                           \
  }

#define CULPRIT_MARKS_AND_BLOCKS(result, name, parameters, exceptions, arguments, kind, limit, at_once) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                                                   \
  const CallMark mark(CallMark::kind, real.address());                                                  \
  if (at_once) return 0;                                                                                \
  const BlockedCall call(real.address(), limit);                                                        \
  return real arguments;                                                                                \
  }

#define CULPRIT_LOCKS(result, name, parameters, exceptions, arguments, is_free) \
  CULPRIT_BEGIN(result, name, parameters, exceptions)                           \
  note_taken(first_of arguments);                                               \
  if (is_free) return real arguments;                                           \
  return WaitForLock<result parameters>{real} arguments;                        \
  }

#include "runtime/interpose/waits.def"
// NOLINTEND(bugprone-macro-parentheses,bugprone-reserved-identifier)

/// libaio's, which passes the kernel's error through: declared here as that library's header has it.
CULPRIT_EXPORT int io_getevents(void* context, long least, long most, void* events, timespec* timeout) {
  static CULPRIT_REAL Real<int(void*, long, long, void*, timespec*)> real{"io_getevents"};
  const BlockedCall call(real.address(), limit_of(timeout));
  // A plug-in may have brought the library along, which is then not among those that we can search.
  if (real.get() == nullptr)
    return static_cast<int>(
        system_call(SYS_io_getevents, word(context), least, most, word(events), word(timeout)));
  return real(context, least, most, events, timeout);
}

// sigpause takes a signal number or, in its older form, a mask; the headers choose among this and the two in
// the table.
CULPRIT_EXPORT int pause_with_mask(int mask) __asm__("sigpause");
int pause_with_mask(int mask) {
  static CULPRIT_REAL Real<int(int)> real{"sigpause"};
  const BlockedCall call(real.address(), kForever);
  return real(mask);
}

/// Does not wait: the descriptor is for waiting.
CULPRIT_EXPORT int signalfd(int descriptor, const sigset_t* mask, int flags) noexcept {
  static CULPRIT_REAL Real<int(int, const sigset_t*, int)> real{"signalfd"};
  return real(descriptor, WithoutOurs(mask).get(), flags);
}

/// Some options decide which calls of sockets a signal breaks off.
CULPRIT_EXPORT int setsockopt(int descriptor, int level, int option, const void* value,
                              socklen_t length) noexcept {
  static CULPRIT_REAL Real<int(int, int, int, const void*, socklen_t)> real{"setsockopt"};
  note_socket_option(level, option);
  return real(descriptor, level, option, value, length);
}

CULPRIT_EXPORT int fcntl(int descriptor, int command, ...) {
  static CULPRIT_REAL Real<int(int, int, void*)> real{"fcntl"};
  std::va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return control_file(real, descriptor, command, argument);
}

/// What programs call where files may be large.
CULPRIT_EXPORT int fcntl64(int descriptor, int command, ...) {
  static CULPRIT_REAL Real<int(int, int, void*)> real{"fcntl64"};
  std::va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return control_file(real, descriptor, command, argument);
}

// The C library exports some functions under two names, and old programs call the second.
// NOLINTBEGIN(bugprone-macro-parentheses,bugprone-reserved-identifier): names of the C library
#define CULPRIT_ALSO(second, name) CULPRIT_EXPORT decltype(name) second __attribute__((alias(#name)));
CULPRIT_ALSO(__close, close)
CULPRIT_ALSO(__connect, connect)
CULPRIT_ALSO(__dup2, dup2)
CULPRIT_ALSO(__fcntl, fcntl)
CULPRIT_ALSO(__nanosleep, nanosleep)
CULPRIT_ALSO(__poll, poll)
CULPRIT_ALSO(__read, read)
CULPRIT_ALSO(__recv, recv)
CULPRIT_ALSO(__select, select)
CULPRIT_ALSO(__send, send)
CULPRIT_ALSO(__sendmmsg, sendmmsg)
CULPRIT_ALSO(__sigsuspend, sigsuspend)
CULPRIT_ALSO(__sigtimedwait, sigtimedwait)
CULPRIT_ALSO(__write, write)
// NOLINTEND(bugprone-macro-parentheses,bugprone-reserved-identifier)
