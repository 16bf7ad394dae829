// Sockets and pipes: a signal breaks receiving with a timeout off, and makes MSG_WAITALL and large writes
// come short.
#include "runtime/blocked_call.hpp"
#include "runtime/export.hpp"
#include "runtime/real.hpp"

#include <cstddef>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

using culprit::runtime::BlockedCall;
using culprit::runtime::Real;

constexpr std::size_t kAtomicWrite = 4096;  // PIPE_BUF: writes up to this are whole or nothing

/// True for descriptors on which a large write may come short: pipes and sockets.
bool writes_in_pieces(int descriptor) {
  if (culprit::runtime::this_thread() == nullptr) return false;
  struct stat status {};
  const long failed = culprit::runtime::system_call(SYS_fstat, descriptor, culprit::runtime::word(&status));
  return failed == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/// Enough to tell a large gathered write from a small one.
std::size_t length_of(const iovec* pieces, int count) {
  std::size_t length = 0;
  for (int i = 0; i < count && length <= kAtomicWrite; ++i) length += pieces[i].iov_len;
  return length;
}

}  // namespace

CULPRIT_EXPORT ssize_t recv(int descriptor, void* buffer, std::size_t size, int flags) {
  static Real<ssize_t(int, void*, std::size_t, int)> real{"recv"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, flags);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): what fortified programs call
CULPRIT_EXPORT ssize_t __recv_chk(int descriptor, void* buffer, std::size_t size, std::size_t room,
                                  int flags) {
  static Real<ssize_t(int, void*, std::size_t, std::size_t, int)> real{"__recv_chk"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, room, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, room, flags);
}

CULPRIT_EXPORT ssize_t recvfrom(int descriptor, void* buffer, std::size_t size, int flags, sockaddr* from,
                                socklen_t* length) {
  static Real<ssize_t(int, void*, std::size_t, int, sockaddr*, socklen_t*)> real{"recvfrom"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, flags, from, length);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, flags, from, length);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): what fortified programs call
CULPRIT_EXPORT ssize_t __recvfrom_chk(int descriptor, void* buffer, std::size_t size, std::size_t room,
                                      int flags, sockaddr* from, socklen_t* length) {
  static Real<ssize_t(int, void*, std::size_t, std::size_t, int, sockaddr*, socklen_t*)> real{
      "__recvfrom_chk"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, room, flags, from, length);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, room, flags, from, length);
}

CULPRIT_EXPORT ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  static Real<ssize_t(int, msghdr*, int)> real{"recvmsg"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, message, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, message, flags);
}

CULPRIT_EXPORT int recvmmsg(int descriptor, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  static Real<int(int, mmsghdr*, unsigned, int, timespec*)> real{"recvmmsg"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, messages, count, flags, timeout);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, messages, count, flags, timeout);
}

CULPRIT_EXPORT int accept(int descriptor, sockaddr* from, socklen_t* length) {
  static Real<int(int, sockaddr*, socklen_t*)> real{"accept"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, from, length);
}

CULPRIT_EXPORT int accept4(int descriptor, sockaddr* from, socklen_t* length, int flags) {
  static Real<int(int, sockaddr*, socklen_t*, int)> real{"accept4"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, from, length, flags);
}

CULPRIT_EXPORT int connect(int descriptor, const sockaddr* to, socklen_t length) {
  static Real<int(int, const sockaddr*, socklen_t)> real{"connect"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, to, length);
}

CULPRIT_EXPORT ssize_t send(int descriptor, const void* buffer, std::size_t size, int flags) {
  static Real<ssize_t(int, const void*, std::size_t, int)> real{"send"};
  if (size <= kAtomicWrite || (flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, flags);
}

CULPRIT_EXPORT ssize_t sendto(int descriptor, const void* buffer, std::size_t size, int flags,
                              const sockaddr* to, socklen_t length) {
  static Real<ssize_t(int, const void*, std::size_t, int, const sockaddr*, socklen_t)> real{"sendto"};
  if (size <= kAtomicWrite || (flags & MSG_DONTWAIT) != 0)
    return real(descriptor, buffer, size, flags, to, length);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, flags, to, length);
}

CULPRIT_EXPORT ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  static Real<ssize_t(int, const msghdr*, int)> real{"sendmsg"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, message, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, message, flags);
}

CULPRIT_EXPORT ssize_t write(int descriptor, const void* buffer, std::size_t size) {
  static Real<ssize_t(int, const void*, std::size_t)> real{"write"};
  if (size <= kAtomicWrite || !writes_in_pieces(descriptor)) return real(descriptor, buffer, size);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size);
}

CULPRIT_EXPORT ssize_t writev(int descriptor, const iovec* pieces, int count) {
  static Real<ssize_t(int, const iovec*, int)> real{"writev"};
  if (length_of(pieces, count) <= kAtomicWrite || !writes_in_pieces(descriptor)) {
    return real(descriptor, pieces, count);
  }
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, pieces, count);
}
