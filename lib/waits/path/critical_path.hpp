#pragma once

#include "exchange/communicator.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/path_shares.hpp"
#include "waits/timeline/rank_map.hpp"

#include <cstdint>
#include <vector>

namespace culprit::waits {

/// Time that a call path of one time line spent on the critical path.
struct CriticalTime {
  Location location = kNoLocation;
  PathOfRegion path;
  std::uint64_t ns = 0;

  friend auto operator<=>(const CriticalTime&,
                          const CriticalTime&) = default;  // NOLINT(modernize-use-nullptr)
};

/// When the path was on a time line.
struct CriticalVisit {
  Location location = kNoLocation;
  std::uint64_t begin_ns = 0, end_ns = 0;
};

/// The critical path of a run (docs/algorithms.md 8.1): from the last enter of MPI_Finalize backwards, at
/// every wait over to its cause, to the end of MPI_Init.
struct CriticalPath {
  std::uint64_t begin_ns = 0, end_ns = 0;  ///< the same on all ranks of the analysis; equal: there is none
  EventId last;                       ///< the call it ends at; of several at one time the first time line's
  std::uint64_t calls_ns = 0;         ///< in MPI calls, all ranks together
  std::vector<CriticalTime> times;    ///< this rank's share, in order; all together are end - begin
  std::vector<CriticalVisit> visits;  ///< of this rank's time lines, the latest first
  [[nodiscard]] std::uint64_t length_ns() const { return end_ns - begin_ns; }
};

/// Collective. Where no MPI_Finalize was recorded (a run cut short) the path ends with the last call of all.
CriticalPath critical_path(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched);

}  // namespace culprit::waits
