// Writing by descriptor: a signal makes large writes to pipes, sockets and terminals come short.
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/interpose/interruptible.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cstddef>

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

using culprit::runtime::BlockedCall;
using culprit::runtime::length_of;
using culprit::runtime::Real;
using culprit::runtime::writes_interruptibly;

CULPRIT_EXPORT ssize_t write(int descriptor, const void* buffer, std::size_t size) {
  static CULPRIT_REAL Real<ssize_t(int, const void*, std::size_t)> real{"write"};
  if (!writes_interruptibly(descriptor, size)) return real(descriptor, buffer, size);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size);
}

CULPRIT_EXPORT ssize_t writev(int descriptor, const iovec* pieces, int count) {
  static CULPRIT_REAL Real<ssize_t(int, const iovec*, int)> real{"writev"};
  if (!writes_interruptibly(descriptor, length_of(pieces, count))) return real(descriptor, pieces, count);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, pieces, count);
}

CULPRIT_EXPORT ssize_t sendfile(int to, int from, off_t* offset, std::size_t size) noexcept {
  static CULPRIT_REAL Real<ssize_t(int, int, off_t*, std::size_t)> real{"sendfile"};
  if (!writes_interruptibly(to, size)) return real(to, from, offset, size);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(to, from, offset, size);
}

CULPRIT_EXPORT ssize_t sendfile64(int to, int from, off64_t* offset, std::size_t size) noexcept {
  static CULPRIT_REAL Real<ssize_t(int, int, off64_t*, std::size_t)> real{"sendfile64"};
  if (!writes_interruptibly(to, size)) return real(to, from, offset, size);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(to, from, offset, size);
}

CULPRIT_EXPORT ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, std::size_t size,
                              unsigned flags) {
  static CULPRIT_REAL Real<ssize_t(int, off64_t*, int, off64_t*, std::size_t, unsigned)> real{"splice"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(from, from_offset, to, to_offset, size, flags);
}

CULPRIT_EXPORT ssize_t vmsplice(int descriptor, const iovec* pieces, std::size_t count, unsigned flags) {
  static CULPRIT_REAL Real<ssize_t(int, const iovec*, std::size_t, unsigned)> real{"vmsplice"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, pieces, count, flags);
}

CULPRIT_EXPORT int tcdrain(int descriptor) {
  static CULPRIT_REAL Real<int(int)> real{"tcdrain"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor);
}

// Reserving space: on tmpfs, many kernels give up at any signal, and the next attempt begins anew.
CULPRIT_EXPORT int fallocate(int descriptor, int mode, off_t offset, off_t size) {
  static CULPRIT_REAL Real<int(int, int, off_t, off_t)> real{"fallocate"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, mode, offset, size);
}

CULPRIT_EXPORT int fallocate64(int descriptor, int mode, off64_t offset, off64_t size) {
  static CULPRIT_REAL Real<int(int, int, off64_t, off64_t)> real{"fallocate64"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, mode, offset, size);
}

CULPRIT_EXPORT int posix_fallocate(int descriptor, off_t offset, off_t size) {
  static CULPRIT_REAL Real<int(int, off_t, off_t)> real{"posix_fallocate"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, offset, size);
}

CULPRIT_EXPORT int posix_fallocate64(int descriptor, off64_t offset, off64_t size) {
  static CULPRIT_REAL Real<int(int, off64_t, off64_t)> real{"posix_fallocate64"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, offset, size);
}
