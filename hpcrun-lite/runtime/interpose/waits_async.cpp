// Waiting for asynchronous input and output, which a signal breaks off.
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/interpose/wait_time.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <aio.h>

using culprit::runtime::BlockedCall;
using culprit::runtime::limit_of;
using culprit::runtime::Real;

CULPRIT_EXPORT int aio_suspend(const aiocb* const requests[], int count, const timespec* timeout) {
  static CULPRIT_REAL Real<int(const aiocb* const*, int, const timespec*)> real{"aio_suspend"};
  const BlockedCall call(real.address(), limit_of(timeout));
  return real(requests, count, timeout);
}

CULPRIT_EXPORT int aio_suspend64(const aiocb64* const requests[], int count, const timespec* timeout) {
  static CULPRIT_REAL Real<int(const aiocb64* const*, int, const timespec*)> real{"aio_suspend64"};
  const BlockedCall call(real.address(), limit_of(timeout));
  return real(requests, count, timeout);
}

/// libaio's, which passes the kernel's error through: declared here as that library's header has it.
extern "C" __attribute__((visibility("default"))) int io_getevents(void* context, long least, long most,
                                                                   void* events, timespec* timeout) {
  static CULPRIT_REAL Real<int(void*, long, long, void*, timespec*)> real{"io_getevents"};
  const BlockedCall call(real.address(), limit_of(timeout));
  // A plug-in may have brought the library along, which is then not among those that we can search.
  if (real.get() == nullptr) {
    return static_cast<int>(culprit::runtime::system_call(SYS_io_getevents, culprit::runtime::word(context),
                                                          least, most, culprit::runtime::word(events),
                                                          culprit::runtime::word(timeout)));
  }
  return real(context, least, most, events, timeout);
}
