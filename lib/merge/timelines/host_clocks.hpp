#pragma once

#include "exchange/communicator.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace culprit::measurement::trace {
struct ClockPair;
}

namespace culprit::merge {

/// What a process's trace says of its host's clock.
struct ProcessClock {
  std::string host;
  std::int32_t rank = 0;
  bool compared = false;       ///< with that of another host
  std::uint64_t error_ns = 0;  ///< of the comparisons: half of the longest round trip
  std::int64_t to_day_ns =
      0;  ///< the time of day minus CLOCK_MONOTONIC, where it was least: read without a break
  std::function<void(std::int64_t ns)> move;  ///< moves all times of the trace later

  ProcessClock(std::string host, std::int32_t rank, std::span<const measurement::trace::ClockPair> pairs);
};

/// Collective: where hosts did not compare their clocks, brings them to the clock of the lowest rank's by the
/// time of day; hosts whose clocks agree are left alone. `own`: of this rank's processes. Returns, on all
/// ranks alike, by how much two hosts' clocks may differ after that: 0 where there is one clock,
/// kClocksNotCompared where only the time of day is known.
std::uint64_t bring_to_one_clock(exchange::Communicator& comm, std::span<const ProcessClock> own);

}  // namespace culprit::merge
