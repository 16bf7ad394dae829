#pragma once

#include <cstdint>
#include <ctime>

// Clocks in nanoseconds; async-signal-safe (clock_gettime neither locks nor allocates).
namespace culprit::runtime {

inline constexpr std::uint64_t kSecond = 1'000'000'000;

inline std::uint64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

/// CLOCK_MONOTONIC: the time base of a measurement.
inline std::uint64_t now() {
  return read_clock(CLOCK_MONOTONIC);
}

/// CPU time of the calling thread; a real system call, about 0.2 µs.
inline std::uint64_t thread_cpu_time() {
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

inline timespec to_timespec(std::uint64_t ns) {
  return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
}

}  // namespace culprit::runtime
