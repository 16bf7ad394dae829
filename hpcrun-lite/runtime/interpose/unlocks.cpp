// The functions that give locks back: who does so bears what others have waited (docs/algorithms.md 12).
// Where nobody waits for any lock, that is one load. What is owed is taken before the lock is given back, and
// its call path is walked afterwards, when nobody waits for that.
#include "runtime/sampling/blame.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <pthread.h>
#include <threads.h>

namespace culprit::runtime {
namespace {

/// Gives `lock` back, which others may wait for, and which `holders` threads hold. Not inlined: it is rare.
template <typename Signature, typename Lock>
[[gnu::noinline]] int give_back(Real<Signature>& real, Lock* lock, std::uint64_t holders) {
  const std::uint64_t owed =
      settle_lock(const_cast<const void*>(static_cast<const volatile void*>(lock)), holders);
  const int result = real(lock);
  if (owed != 0) charge_lock_wait(lock, owed);
  return result;
}

/// Whether the call leaves the mutex to others: of one that its owner took several times the last does. Of
/// others glibc keeps no count.
bool leaves(const pthread_mutex_t* mutex) {
  return mutex->__data.__count <= 1;
}

/// Who holds the lock: its writer, or its readers (pthread_rwlock_common.c).
std::uint64_t holders_of(const pthread_rwlock_t* lock) {
  constexpr unsigned kReaderShift = 3;
  if (__atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED) != 0) return 1;
  return __atomic_load_n(&lock->__data.__readers, __ATOMIC_RELAXED) >> kReaderShift;
}

}  // namespace
}  // namespace culprit::runtime

using culprit::runtime::give_back;
using culprit::runtime::Real;
using culprit::runtime::locks::anybody_waits;

CULPRIT_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static CULPRIT_REAL Real<int(pthread_mutex_t*)> real{"pthread_mutex_unlock"};
  if (!anybody_waits() || !culprit::runtime::leaves(mutex)) return real(mutex);
  return give_back(real, mutex, 1);
}

CULPRIT_EXPORT int mtx_unlock(mtx_t* mutex) {
  static CULPRIT_REAL Real<int(mtx_t*)> real{"mtx_unlock"};
  if (!anybody_waits() || !culprit::runtime::leaves(reinterpret_cast<const pthread_mutex_t*>(mutex)))
    return real(mutex);
  return give_back(real, mutex, 1);
}

CULPRIT_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  static CULPRIT_REAL Real<int(pthread_rwlock_t*)> real{"pthread_rwlock_unlock"};
  if (!anybody_waits()) return real(lock);
  return give_back(real, lock, culprit::runtime::holders_of(lock));
}

CULPRIT_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  static CULPRIT_REAL Real<int(pthread_spinlock_t*)> real{"pthread_spin_unlock"};
  if (!anybody_waits()) return real(lock);
  return give_back(real, lock, 1);
}
