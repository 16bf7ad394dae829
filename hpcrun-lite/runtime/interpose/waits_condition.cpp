// Waiting until another thread says so: condition variables, barriers, semaphores (those with a time limit
// are in waits_ipc.cpp). Two versions of pthread_cond_wait and pthread_cond_timedwait exist, for condition
// variables of two layouts; runtime.map gives ours the version of the new ones, and leaves the old to the C
// library.
#include "runtime/state/call_mark.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

using culprit::runtime::CallMark;
using culprit::runtime::Real;

CULPRIT_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static CULPRIT_REAL Real<int(pthread_cond_t*, pthread_mutex_t*)> real{"pthread_cond_wait"};
  const CallMark mark(CallMark::condition, real.address());
  return real(condition, mutex);
}

CULPRIT_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                          const timespec* until) {
  static CULPRIT_REAL Real<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> real{
      "pthread_cond_timedwait"};
  const CallMark mark(CallMark::condition, real.address());
  return real(condition, mutex, until);
}

CULPRIT_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                          const timespec* until) {
  static CULPRIT_REAL Real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> real{
      "pthread_cond_clockwait"};
  const CallMark mark(CallMark::condition, real.address());
  return real(condition, mutex, clock, until);
}

CULPRIT_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  static CULPRIT_REAL Real<int(cnd_t*, mtx_t*)> real{"cnd_wait"};
  const CallMark mark(CallMark::condition, real.address());
  return real(condition, mutex);
}

CULPRIT_EXPORT int cnd_timedwait(cnd_t* __restrict condition, mtx_t* __restrict mutex,
                                 const timespec* __restrict until) {
  static CULPRIT_REAL Real<int(cnd_t*, mtx_t*, const timespec*)> real{"cnd_timedwait"};
  const CallMark mark(CallMark::condition, real.address());
  return real(condition, mutex, until);
}

CULPRIT_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  static CULPRIT_REAL Real<int(pthread_barrier_t*)> real{"pthread_barrier_wait"};
  const CallMark mark(CallMark::condition, real.address());
  return real(barrier);
}

CULPRIT_EXPORT int sem_wait(sem_t* semaphore) {
  static CULPRIT_REAL Real<int(sem_t*)> real{"sem_wait"};
  const CallMark mark(CallMark::condition, real.address());
  return real(semaphore);
}
