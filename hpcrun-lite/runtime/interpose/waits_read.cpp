// Reading by descriptor: a signal breaks reading from a socket with a timeout off, and makes large reads from
// devices (/dev/urandom, /dev/zero) come short.
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/interpose/interruptible.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cstddef>

#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

using culprit::runtime::BlockedCall;
using culprit::runtime::EndOfWait;
using culprit::runtime::length_of;
using culprit::runtime::reads_interruptibly;
using culprit::runtime::Real;

CULPRIT_EXPORT ssize_t read(int descriptor, void* buffer, std::size_t size) {
  static CULPRIT_REAL Real<ssize_t(int, void*, std::size_t)> real{"read"};
  const EndOfWait end;
  if (!reads_interruptibly(descriptor, size)) return real(descriptor, buffer, size);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): what fortified programs call
CULPRIT_EXPORT ssize_t __read_chk(int descriptor, void* buffer, std::size_t size, std::size_t room) {
  static CULPRIT_REAL Real<ssize_t(int, void*, std::size_t, std::size_t)> real{"__read_chk"};
  const EndOfWait end;
  if (!reads_interruptibly(descriptor, size)) return real(descriptor, buffer, size, room);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, room);
}

CULPRIT_EXPORT ssize_t readv(int descriptor, const iovec* pieces, int count) {
  static CULPRIT_REAL Real<ssize_t(int, const iovec*, int)> real{"readv"};
  const EndOfWait end;
  if (!reads_interruptibly(descriptor, length_of(pieces, count))) return real(descriptor, pieces, count);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, pieces, count);
}

CULPRIT_EXPORT ssize_t getrandom(void* buffer, std::size_t size, unsigned flags) {
  static CULPRIT_REAL Real<ssize_t(void*, std::size_t, unsigned)> real{"getrandom"};
  if (size <= culprit::runtime::kWhole) return real(buffer, size, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(buffer, size, flags);
}
