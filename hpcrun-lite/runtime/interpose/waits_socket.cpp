// Sockets: a signal breaks calls with a timeout off, and makes MSG_WAITALL and sends come short.
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/interpose/interruptible.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <cstddef>

#include <sys/socket.h>

using culprit::runtime::BlockedCall;
using culprit::runtime::Real;

/// Timeouts make reads by descriptor breakable as well.
CULPRIT_EXPORT int setsockopt(int descriptor, int level, int option, const void* value,
                              socklen_t length) noexcept {
  static CULPRIT_REAL Real<int(int, int, int, const void*, socklen_t)> real{"setsockopt"};
  if (level == SOL_SOCKET && option == SO_RCVTIMEO) culprit::runtime::note_socket_timeout();
  return real(descriptor, level, option, value, length);
}

CULPRIT_EXPORT ssize_t recv(int descriptor, void* buffer, std::size_t size, int flags) {
  static CULPRIT_REAL Real<ssize_t(int, void*, std::size_t, int)> real{"recv"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, flags);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): what fortified programs call
CULPRIT_EXPORT ssize_t __recv_chk(int descriptor, void* buffer, std::size_t size, std::size_t room,
                                  int flags) {
  static CULPRIT_REAL Real<ssize_t(int, void*, std::size_t, std::size_t, int)> real{"__recv_chk"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, room, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, room, flags);
}

CULPRIT_EXPORT ssize_t recvfrom(int descriptor, void* buffer, std::size_t size, int flags, sockaddr* from,
                                socklen_t* length) {
  static CULPRIT_REAL Real<ssize_t(int, void*, std::size_t, int, sockaddr*, socklen_t*)> real{"recvfrom"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, flags, from, length);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, flags, from, length);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): what fortified programs call
CULPRIT_EXPORT ssize_t __recvfrom_chk(int descriptor, void* buffer, std::size_t size, std::size_t room,
                                      int flags, sockaddr* from, socklen_t* length) {
  static CULPRIT_REAL Real<ssize_t(int, void*, std::size_t, std::size_t, int, sockaddr*, socklen_t*)> real{
      "__recvfrom_chk"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, room, flags, from, length);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, room, flags, from, length);
}

CULPRIT_EXPORT ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  static CULPRIT_REAL Real<ssize_t(int, msghdr*, int)> real{"recvmsg"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, message, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, message, flags);
}

CULPRIT_EXPORT int recvmmsg(int descriptor, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  static CULPRIT_REAL Real<int(int, mmsghdr*, unsigned, int, timespec*)> real{"recvmmsg"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, messages, count, flags, timeout);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, messages, count, flags, timeout);
}

CULPRIT_EXPORT int accept(int descriptor, sockaddr* from, socklen_t* length) {
  static CULPRIT_REAL Real<int(int, sockaddr*, socklen_t*)> real{"accept"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, from, length);
}

CULPRIT_EXPORT int accept4(int descriptor, sockaddr* from, socklen_t* length, int flags) {
  static CULPRIT_REAL Real<int(int, sockaddr*, socklen_t*, int)> real{"accept4"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, from, length, flags);
}

CULPRIT_EXPORT int connect(int descriptor, const sockaddr* to, socklen_t length) {
  static CULPRIT_REAL Real<int(int, const sockaddr*, socklen_t)> real{"connect"};
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, to, length);
}

CULPRIT_EXPORT ssize_t send(int descriptor, const void* buffer, std::size_t size, int flags) {
  static CULPRIT_REAL Real<ssize_t(int, const void*, std::size_t, int)> real{"send"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, flags);
}

CULPRIT_EXPORT ssize_t sendto(int descriptor, const void* buffer, std::size_t size, int flags,
                              const sockaddr* to, socklen_t length) {
  static CULPRIT_REAL Real<ssize_t(int, const void*, std::size_t, int, const sockaddr*, socklen_t)> real{
      "sendto"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, buffer, size, flags, to, length);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, buffer, size, flags, to, length);
}

CULPRIT_EXPORT ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  static CULPRIT_REAL Real<ssize_t(int, const msghdr*, int)> real{"sendmsg"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, message, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, message, flags);
}

CULPRIT_EXPORT int sendmmsg(int descriptor, mmsghdr* messages, unsigned count, int flags) {
  static CULPRIT_REAL Real<int(int, mmsghdr*, unsigned, int)> real{"sendmmsg"};
  if ((flags & MSG_DONTWAIT) != 0) return real(descriptor, messages, count, flags);
  const BlockedCall call(real.address(), BlockedCall::kForever);
  return real(descriptor, messages, count, flags);
}
