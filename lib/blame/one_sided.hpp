#pragma once

#include "blame/epoch_stamps.hpp"
#include "database/database.hpp"
#include "measurement/kinds.hpp"

#include <cstdint>
#include <span>
#include <vector>

// The waits of one-sided communication, approximated without a trace (docs/algorithms.md 6), and those of
// threads.
namespace culprit::blame {

/// One accumulator of one thread, at the frontier frame of its call path.
struct EpochRow {
  std::uint32_t location = 0;
  std::int32_t rank = -1;
  database::ContextId context = 0;
  std::uint32_t size_class = 0;
  measurement::EpochKind kind = measurement::EpochKind::none;
  measurement::WaitKind thread_wait = measurement::WaitKind::none;  ///< with kind none: a wait of threads
  std::uint8_t unused[6] = {};                                      ///< no padding: rows are sent as they are
  std::uint64_t window = 0, peers = 0;
  std::uint64_t count = 0, total_ns = 0, least_ns = 0;
  std::uint64_t idle_ns = 0;  ///< idleness sampled in the frame by this thread
};

struct Approximation {
  std::vector<database::Wait> waits;  ///< largest first; the same for every order of rows and stamps
  std::uint64_t unclassified_ns =
      0;  ///< idleness in frames of one-sided calls beyond what they are estimated to wait
  std::uint64_t excess_ns = 0;  ///< estimated to wait, but not sampled as idle, and therefore left out
};

/// Divides the idleness of each frame among patterns; what the rows of a (location, context) get never
/// exceeds idle_ns. A call waits for the share of its time that it waited in the epochs with stamps; where
/// there are none, for as long as it took beyond what such a call takes at least.
Approximation approximate_waits(std::span<const EpochRow> rows, std::span<const EpochStamp> stamps = {});

}  // namespace culprit::blame
