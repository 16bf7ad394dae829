#pragma once

#include "runtime/api.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include <sys/time.h>
#include <sys/uio.h>

namespace culprit::runtime {

/// A call that a signal would break off, for as long as this lives: the sampling signal is held back, so that
/// the program sees no EINTR and no short wait, and the whole wait arrives as one sample at its end, charged
/// to the call. Where the wait may be long it is also published in the measurement, for the case that the
/// process dies in it. Does nothing on threads that are not sampled.
class BlockedCall {
 public:
  /// `function` is the real function, which call paths show for the wrapper; `limit_ns` is how long
  /// the call may last at most.
  BlockedCall(const void* function, std::uint64_t limit_ns);
  ~BlockedCall();
  BlockedCall(const BlockedCall&) = delete;
  BlockedCall& operator=(const BlockedCall&) = delete;

  static constexpr std::uint64_t kForever = ~std::uint64_t{0};

 private:
  Thread* thread_;
  std::uint32_t interposed_around_ = 0;
  std::uintptr_t outer_ = 0;
  bool was_blocked_ = false;
  bool published_ = false;
};

}  // namespace culprit::runtime

namespace culprit::runtime {

/// Makes a call that may block for `limit` ns (0: not at all), with our signal held back if it may.
template <typename Call>
[[gnu::always_inline]] inline auto hold_back(const void* function, std::uint64_t limit, Call call) {
  if (limit == 0) return call();
  const BlockedCall blocked(function, limit);
  return call();
}

/// What a look that failed comes to; before it, `errno` and the count of signals were these. Apart from the
/// look, which is hot.
template <typename Call>
[[gnu::noinline]] auto look_again(Call call, int error, std::uint32_t before) {
  decltype(call()) result = -1;
  while (result == -1 && errno == EINTR && culprit_rt_thread.interruptions != before) {
    before = culprit_rt_thread.interruptions;
    errno = error;
    result = call();
  }
  return result;
}

/// Makes a call that returns at once (a poll with a timeout of zero), which the kernel fails with EINTR all
/// the same where a signal is pending; again, where that was ours. To hold the signal back would cost far
/// more than the call. Had a signal of the program's come as well, it would have been handled right before
/// the call.
template <typename Call>
[[gnu::always_inline]] inline auto look(Call call) {
  const int error = errno;
  const std::uint32_t before = culprit_rt_thread.interruptions;
  const auto result = call();
  if (result != -1) [[likely]]
    return result;
  return look_again(call, error, before);
}

}  // namespace culprit::runtime

// Which calls of descriptors a signal can break off or make come short. Asked before the call: after it,
// nothing shows whether the program's own signals came as well.
namespace culprit::runtime {

constexpr std::uint64_t forever_if(bool blocks) {
  return blocks ? BlockedCall::kForever : 0;
}

/// Reads from devices and writes to pipes up to this size are whole or nothing (PIPE_BUF, one page).
inline constexpr std::size_t kWhole = 4096;

bool reads_interruptibly(int descriptor, std::size_t size);
bool writes_interruptibly(int descriptor, std::size_t size);

/// Whether no call of the descriptor waits (O_NONBLOCK), nor is broken off: also where the thread is not
/// sampled.
bool is_nonblocking(int descriptor);

/// Whether a call of a socket with these flags (MSG_DONTWAIT) may wait.
bool socket_waits(int descriptor, int flags);

/// Whether such a call, if there is something to receive, does the same with MSG_DONTWAIT added, and is worth
/// trying: no flag asks for more than there is, nor has a socket of this process a least amount to wait for.
bool receives_at_once(int flags);

/// Whether reads and writes of this descriptor, a socket, may be given up after a while.
bool is_timed_socket(int descriptor);

/// Whether some socket of this process was given a timeout, and the thread is sampled.
bool may_have_timed_sockets();

/// Whether this process has set SO_LINGER on a socket, and the calling thread is sampled.
bool may_have_lingering_sockets();

/// Whether to close the descriptor, a socket, may wait for what was sent (SO_LINGER).
bool may_linger(int descriptor);

/// An option of some socket of this process is set: from then on the questions above are asked of the kernel.
void note_socket_option(int level, int option);

/// Whether the kernel can read the `size` bytes at `address`, at least 8: a call that is given them fails
/// with EFAULT otherwise. One system call per page: the kernel copies a mask before it refuses the unknown
/// change, and what forbids process_vm_readv (seccomp in a container) does not forbid this. False also where
/// the process is not measured: it may have forbidden itself every further system call.
bool is_readable(long address, std::size_t size);

/// Enough of a gathered size to distinguish a large one from a small one; 0 where the kernel refuses the
/// list.
std::size_t length_of(const iovec* pieces, int count);

}  // namespace culprit::runtime

// How long a call may block at most, from the ways in which system interfaces say it.
namespace culprit::runtime {

inline std::uint64_t limit_of_ms(int milliseconds) {
  return milliseconds < 0 ? BlockedCall::kForever : static_cast<std::uint64_t>(milliseconds) * 1'000'000;
}

inline std::uint64_t limit_of(const timespec* time) {
  if (time == nullptr) return BlockedCall::kForever;
  if (time->tv_sec < 0 || time->tv_nsec < 0) return 0;
  return static_cast<std::uint64_t>(time->tv_sec) * kSecond + static_cast<std::uint64_t>(time->tv_nsec);
}

inline std::uint64_t limit_of(const timeval* time) {
  if (time == nullptr) return BlockedCall::kForever;
  if (time->tv_sec < 0 || time->tv_usec < 0) return 0;
  return static_cast<std::uint64_t>(time->tv_sec) * kSecond +
         static_cast<std::uint64_t>(time->tv_usec) * 1000;
}

/// Of calls that leave it to the kernel to read the time: 0 where it cannot, which makes the call fail.
template <typename Time>
std::uint64_t limit_if_readable(const Time* time) {
  return time == nullptr || is_readable(word(time), sizeof *time) ? limit_of(time) : 0;
}

/// From now until `end` on `clock`.
inline std::uint64_t limit_until(clockid_t clock, std::uint64_t end) {
  if (end == BlockedCall::kForever) return end;
  const std::uint64_t current = read_clock(clock);
  return end > current ? end - current : 0;
}

}  // namespace culprit::runtime
