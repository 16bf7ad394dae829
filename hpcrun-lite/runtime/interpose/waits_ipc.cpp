// Semaphores and message queues that the kernel does not restart after a signal.
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/interpose/wait_time.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cstddef>

#include <semaphore.h>
#include <sys/msg.h>
#include <sys/sem.h>

using culprit::runtime::BlockedCall;
using culprit::runtime::CallMark;
using culprit::runtime::Real;

CULPRIT_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  static CULPRIT_REAL Real<int(sem_t*, const timespec*)> real{"sem_timedwait"};
  const CallMark mark(CallMark::condition, real.address());
  const BlockedCall call(real.address(), culprit::runtime::limit_until(CLOCK_REALTIME, until));
  return real(semaphore, until);
}

CULPRIT_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  static CULPRIT_REAL Real<int(sem_t*, clockid_t, const timespec*)> real{"sem_clockwait"};
  const CallMark mark(CallMark::condition, real.address());
  const BlockedCall call(real.address(), culprit::runtime::limit_until(clock, until));
  return real(semaphore, clock, until);
}

CULPRIT_EXPORT int semop(int set, sembuf* operations, std::size_t count) noexcept {
  static CULPRIT_REAL Real<int(int, sembuf*, std::size_t)> real{"semop"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(set, operations, count);
}

CULPRIT_EXPORT int semtimedop(int set, sembuf* operations, std::size_t count,
                              const timespec* timeout) noexcept {
  static CULPRIT_REAL Real<int(int, sembuf*, std::size_t, const timespec*)> real{"semtimedop"};
  const BlockedCall call(real.address(), culprit::runtime::limit_of(timeout));
  return real(set, operations, count, timeout);
}

CULPRIT_EXPORT ssize_t msgrcv(int queue, void* message, std::size_t size, long type, int flags) {
  static CULPRIT_REAL Real<ssize_t(int, void*, std::size_t, long, int)> real{"msgrcv"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(queue, message, size, type, flags);
}

CULPRIT_EXPORT int msgsnd(int queue, const void* message, std::size_t size, int flags) {
  static CULPRIT_REAL Real<int(int, const void*, std::size_t, int)> real{"msgsnd"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(queue, message, size, flags);
}
