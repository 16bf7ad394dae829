#pragma once

#include <cstdint>
#include <ctime>

// Clocks in nanoseconds; async-signal-safe (clock_gettime neither locks nor allocates).
namespace culprit::runtime {

inline constexpr std::uint64_t kSecond = 1'000'000'000;
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

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

/// CPU time of any thread of this process: the kernel's number for that clock.
inline std::uint64_t cpu_time_of(int thread_id) {
  constexpr unsigned kPerThreadSchedulerClock = 6;
  return read_clock(
      static_cast<clockid_t>((~static_cast<unsigned>(thread_id) << 3U) | kPerThreadSchedulerClock));
}

inline timespec to_timespec(std::uint64_t ns) {
  return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
}

}  // namespace culprit::runtime
