#pragma once

#include "runtime/interpose/blocked_call.hpp"
#include "runtime/system/clock.hpp"

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

/// Up to an instant on `clock`.
inline std::uint64_t limit_until(clockid_t clock, const timespec* instant) {
  const std::uint64_t end = limit_of(instant);
  if (end == BlockedCall::kForever) return end;
  const std::uint64_t current = read_clock(clock);
  return end > current ? end - current : 0;
}

}  // namespace culprit::runtime
