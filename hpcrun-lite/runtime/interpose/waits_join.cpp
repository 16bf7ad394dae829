// Waiting for the end of another thread.
#include "runtime/state/call_mark.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <pthread.h>
#include <threads.h>

using culprit::runtime::CallMark;
using culprit::runtime::Real;

CULPRIT_EXPORT int pthread_join(pthread_t thread, void** result) {
  static CULPRIT_REAL Real<int(pthread_t, void**)> real{"pthread_join"};
  const CallMark mark(CallMark::join, real.address());
  return real(thread, result);
}

CULPRIT_EXPORT int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* until) {
  static CULPRIT_REAL Real<int(pthread_t, void**, const timespec*)> real{"pthread_timedjoin_np"};
  const CallMark mark(CallMark::join, real.address());
  return real(thread, result, until);
}

CULPRIT_EXPORT int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock,
                                        const timespec* until) {
  static CULPRIT_REAL Real<int(pthread_t, void**, clockid_t, const timespec*)> real{"pthread_clockjoin_np"};
  const CallMark mark(CallMark::join, real.address());
  return real(thread, result, clock, until);
}

CULPRIT_EXPORT int thrd_join(thrd_t thread, int* result) {
  static CULPRIT_REAL Real<int(thrd_t, int*)> real{"thrd_join"};
  const CallMark mark(CallMark::join, real.address());
  return real(thread, result);
}
