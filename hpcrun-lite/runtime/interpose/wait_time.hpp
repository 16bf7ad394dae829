#pragma once

#include "runtime/interpose/blocked_call.hpp"
#include "runtime/interpose/interruptible.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

#include <cstdint>
#include <ctime>

#include <sys/time.h>

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
