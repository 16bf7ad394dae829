// Waiting for descriptors, which the kernel does not restart after a signal. Polls that return at once (a
// timeout of zero, as in the progress loops of MPI) pass through untouched.
#include "runtime/interpose/blocked_call.hpp"
#include "runtime/interpose/wait_time.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"
#include "runtime/system/signal_set.hpp"

#include <csignal>
#include <cstddef>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

namespace culprit::runtime {
namespace {

/// A mask that a call installs while it waits, with our signal added: it would break the wait otherwise.
class WaitMask {
 public:
  explicit WaitMask(const sigset_t* given) : given_(given) {
    if (given == nullptr || !process.active) return;
    mask_ = *given;
    set_mask(mask_, mask_in(*given) | process.mask);
    given_ = &mask_;
  }
  [[nodiscard]] const sigset_t* get() const { return given_; }

 private:
  const sigset_t* given_;
  sigset_t mask_;
};

}  // namespace
}  // namespace culprit::runtime

using culprit::runtime::BlockedCall;
using culprit::runtime::limit_of;
using culprit::runtime::limit_of_ms;
using culprit::runtime::Real;
using culprit::runtime::WaitMask;

CULPRIT_EXPORT int poll(pollfd* descriptors, nfds_t count, int timeout) {
  static CULPRIT_REAL Real<int(pollfd*, nfds_t, int)> real{"poll"};
  if (timeout == 0) return real(descriptors, count, timeout);
  const BlockedCall call(real.address(), limit_of_ms(timeout));
  return real(descriptors, count, timeout);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): what fortified programs call
CULPRIT_EXPORT int __poll_chk(pollfd* descriptors, nfds_t count, int timeout, std::size_t size) {
  static CULPRIT_REAL Real<int(pollfd*, nfds_t, int, std::size_t)> real{"__poll_chk"};
  if (timeout == 0) return real(descriptors, count, timeout, size);
  const BlockedCall call(real.address(), limit_of_ms(timeout));
  return real(descriptors, count, timeout, size);
}

CULPRIT_EXPORT int ppoll(pollfd* descriptors, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  static CULPRIT_REAL Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> real{"ppoll"};
  const std::uint64_t limit = limit_of(timeout);
  if (limit == 0) return real(descriptors, count, timeout, mask);
  const BlockedCall call(real.address(), limit);
  return real(descriptors, count, timeout, WaitMask(mask).get());
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): what fortified programs call
CULPRIT_EXPORT int __ppoll_chk(pollfd* descriptors, nfds_t count, const timespec* timeout,
                               const sigset_t* mask, std::size_t size) {
  static CULPRIT_REAL Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*, std::size_t)> real{
      "__ppoll_chk"};
  const std::uint64_t limit = limit_of(timeout);
  if (limit == 0) return real(descriptors, count, timeout, mask, size);
  const BlockedCall call(real.address(), limit);
  return real(descriptors, count, timeout, WaitMask(mask).get(), size);
}

CULPRIT_EXPORT int select(int count, fd_set* in, fd_set* out, fd_set* other, timeval* timeout) {
  static CULPRIT_REAL Real<int(int, fd_set*, fd_set*, fd_set*, timeval*)> real{"select"};
  const std::uint64_t limit = limit_of(timeout);
  if (limit == 0) return real(count, in, out, other, timeout);
  const BlockedCall call(real.address(), limit);
  return real(count, in, out, other, timeout);
}

CULPRIT_EXPORT int pselect(int count, fd_set* in, fd_set* out, fd_set* other, const timespec* timeout,
                           const sigset_t* mask) {
  static CULPRIT_REAL Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> real{
      "pselect"};
  const std::uint64_t limit = limit_of(timeout);
  if (limit == 0) return real(count, in, out, other, timeout, mask);
  const BlockedCall call(real.address(), limit);
  return real(count, in, out, other, timeout, WaitMask(mask).get());
}

CULPRIT_EXPORT int epoll_wait(int descriptor, epoll_event* events, int count, int timeout) {
  static CULPRIT_REAL Real<int(int, epoll_event*, int, int)> real{"epoll_wait"};
  if (timeout == 0) return real(descriptor, events, count, timeout);
  const BlockedCall call(real.address(), limit_of_ms(timeout));
  return real(descriptor, events, count, timeout);
}

CULPRIT_EXPORT int epoll_pwait(int descriptor, epoll_event* events, int count, int timeout,
                               const sigset_t* mask) {
  static CULPRIT_REAL Real<int(int, epoll_event*, int, int, const sigset_t*)> real{"epoll_pwait"};
  if (timeout == 0) return real(descriptor, events, count, timeout, mask);
  const BlockedCall call(real.address(), limit_of_ms(timeout));
  return real(descriptor, events, count, timeout, WaitMask(mask).get());
}

CULPRIT_EXPORT int epoll_pwait2(int descriptor, epoll_event* events, int count, const timespec* timeout,
                                const sigset_t* mask) {
  static CULPRIT_REAL Real<int(int, epoll_event*, int, const timespec*, const sigset_t*)> real{
      "epoll_pwait2"};
  const std::uint64_t limit = limit_of(timeout);
  if (limit == 0) return real(descriptor, events, count, timeout, mask);
  const BlockedCall call(real.address(), limit);
  return real(descriptor, events, count, timeout, WaitMask(mask).get());
}
