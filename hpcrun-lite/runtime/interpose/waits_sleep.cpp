// Sleeps, which a signal would cut short. Each is interposed: the C library does not route one through
// another.
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/interpose/wait_time.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <ctime>

#include <threads.h>
#include <unistd.h>

using culprit::runtime::BlockedCall;
using culprit::runtime::Real;

CULPRIT_EXPORT int nanosleep(const timespec* length, timespec* rest) {
  static CULPRIT_REAL Real<int(const timespec*, timespec*)> real{"nanosleep"};
  const BlockedCall call(real.address(), culprit::runtime::limit_of(length));
  return real(length, rest);
}

CULPRIT_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* rest) {
  static CULPRIT_REAL Real<int(clockid_t, int, const timespec*, timespec*)> real{"clock_nanosleep"};
  const bool instant = (flags & TIMER_ABSTIME) != 0;
  const BlockedCall call(real.address(), instant ? culprit::runtime::limit_until(clock, time)
                                                 : culprit::runtime::limit_of(time));
  return real(clock, flags, time, rest);
}

CULPRIT_EXPORT int usleep(useconds_t microseconds) {
  static CULPRIT_REAL Real<int(useconds_t)> real{"usleep"};
  const BlockedCall call(real.address(), std::uint64_t{microseconds} * 1000);
  return real(microseconds);
}

CULPRIT_EXPORT unsigned sleep(unsigned seconds) {
  static CULPRIT_REAL Real<unsigned(unsigned)> real{"sleep"};
  const BlockedCall call(real.address(), seconds * culprit::runtime::kSecond);
  return real(seconds);
}

CULPRIT_EXPORT int thrd_sleep(const timespec* length, timespec* rest) {
  static CULPRIT_REAL Real<int(const timespec*, timespec*)> real{"thrd_sleep"};
  const BlockedCall call(real.address(), culprit::runtime::limit_of(length));
  return real(length, rest);
}
