#pragma once

#include "mpi/occurrence.hpp"

#include <cstdint>

namespace culprit::mpi {

/// A clock that is set wrong, so that comparisons of hosts can be tested on one.
struct WrongClock {
  bool set = false;
  std::int64_t ahead_ns = 0;
  std::int64_t fast_ppb = 0;  ///< gains so much per second from `since_ns` on
  std::uint64_t since_ns = 0;

  [[nodiscard]] std::uint64_t show(std::uint64_t time) const {
    const auto passed = static_cast<std::int64_t>(time - since_ns);
    return time + static_cast<std::uint64_t>(ahead_ns + passed / 1'000 * fast_ppb / 1'000'000);
  }
};
inline constinit WrongClock wrong_clock;

/// A monotonic_time as all that traces hold has it.
inline std::uint64_t host_time(std::uint64_t time) {
  if (wrong_clock.set) [[unlikely]]
    return wrong_clock.show(time);
  return time;
}

inline std::uint64_t host_time() {
  return host_time(monotonic_time());
}

}  // namespace culprit::mpi
