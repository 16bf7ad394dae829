#pragma once

#include <cstdint>
#include <ctime>

namespace culprit::mpi {

/// CLOCK_MONOTONIC in ns: the time of all that traces hold.
inline std::uint64_t host_time() {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace culprit::mpi
