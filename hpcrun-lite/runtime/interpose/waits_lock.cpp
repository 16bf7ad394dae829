// Waiting for locks. A lock that is free costs one comparison more than without us; only who finds it taken
// is marked as waiting. The lock is looked at, never tried: what the call does to it and what it returns stay
// its own. Between the look and the call another thread may take it, and what a lock looks like is glibc's to
// change: a wait that is missed here is known by the function's name (lib/merge/rules/threads.rules).
#include "runtime/state/call_mark.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <pthread.h>
#include <threads.h>

using culprit::runtime::Real;

namespace culprit::runtime {
namespace {

/// Whether a call for the lock would not wait. A mutex that the thread may take again looks taken: it is
/// marked for the little that this takes. The fields are declared by glibc's public headers, for static
/// initializers, and are 0 in a mutex that is free.
bool is_free(const pthread_mutex_t* mutex) {
  return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 0;
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

/// On x86, a spin lock counts down from 1.
bool is_free(const pthread_spinlock_t* lock) {
  return *lock == 1;
}

/// Calls a function that waits for a lock. Not inlined: its frame is what the mark lies in.
template <typename Signature, typename... Arguments>
__attribute__((noinline)) int wait_for_lock(Real<Signature>& real, Arguments... arguments) {
  const CallMark mark(CallMark::lock, real.address());
  return real(arguments...);
}

}  // namespace
}  // namespace culprit::runtime

using culprit::runtime::is_free;
using culprit::runtime::is_free_to_read;
using culprit::runtime::is_free_to_write;
using culprit::runtime::wait_for_lock;

CULPRIT_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static CULPRIT_REAL Real<int(pthread_mutex_t*)> real{"pthread_mutex_lock"};
  return is_free(mutex) ? real(mutex) : wait_for_lock(real, mutex);
}

CULPRIT_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  static CULPRIT_REAL Real<int(pthread_mutex_t*, const timespec*)> real{"pthread_mutex_timedlock"};
  return is_free(mutex) ? real(mutex, until) : wait_for_lock(real, mutex, until);
}

CULPRIT_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                           const timespec* until) noexcept {
  static CULPRIT_REAL Real<int(pthread_mutex_t*, clockid_t, const timespec*)> real{"pthread_mutex_clocklock"};
  return is_free(mutex) ? real(mutex, clock, until) : wait_for_lock(real, mutex, clock, until);
}

CULPRIT_EXPORT int mtx_lock(mtx_t* mutex) {
  static CULPRIT_REAL Real<int(mtx_t*)> real{"mtx_lock"};
  return is_free(mutex) ? real(mutex) : wait_for_lock(real, mutex);
}

CULPRIT_EXPORT int mtx_timedlock(mtx_t* __restrict mutex, const timespec* __restrict until) {
  static CULPRIT_REAL Real<int(mtx_t*, const timespec*)> real{"mtx_timedlock"};
  return is_free(mutex) ? real(mutex, until) : wait_for_lock(real, mutex, until);
}

CULPRIT_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  static CULPRIT_REAL Real<int(pthread_rwlock_t*)> real{"pthread_rwlock_rdlock"};
  return is_free_to_read(lock) ? real(lock) : wait_for_lock(real, lock);
}

CULPRIT_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  static CULPRIT_REAL Real<int(pthread_rwlock_t*)> real{"pthread_rwlock_wrlock"};
  return is_free_to_write(lock) ? real(lock) : wait_for_lock(real, lock);
}

CULPRIT_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
  static CULPRIT_REAL Real<int(pthread_rwlock_t*, const timespec*)> real{"pthread_rwlock_timedrdlock"};
  return is_free_to_read(lock) ? real(lock, until) : wait_for_lock(real, lock, until);
}

CULPRIT_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
  static CULPRIT_REAL Real<int(pthread_rwlock_t*, const timespec*)> real{"pthread_rwlock_timedwrlock"};
  return is_free_to_write(lock) ? real(lock, until) : wait_for_lock(real, lock, until);
}

CULPRIT_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                              const timespec* until) noexcept {
  static CULPRIT_REAL Real<int(pthread_rwlock_t*, clockid_t, const timespec*)> real{
      "pthread_rwlock_clockrdlock"};
  return is_free_to_read(lock) ? real(lock, clock, until) : wait_for_lock(real, lock, clock, until);
}

CULPRIT_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                              const timespec* until) noexcept {
  static CULPRIT_REAL Real<int(pthread_rwlock_t*, clockid_t, const timespec*)> real{
      "pthread_rwlock_clockwrlock"};
  return is_free_to_write(lock) ? real(lock, clock, until) : wait_for_lock(real, lock, clock, until);
}

CULPRIT_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  static CULPRIT_REAL Real<int(pthread_spinlock_t*)> real{"pthread_spin_lock"};
  return is_free(lock) ? real(lock) : wait_for_lock(real, lock);
}
