#pragma once

#include "exchange/communicator.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/event.hpp"
#include "waits/timeline/invocations.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/variation/procedure_sums.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// One invocation of the dominant procedure, or one iteration, on one rank.
struct Segment {
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint64_t sos_ns = 0;     ///< its duration without the MPI calls and the waits for threads in it
  std::uint32_t context = ~0U;  ///< the call path that was sampled most in it
  Location location = 0;        ///< of the thread whose time it is: of a region, who worked longest in it
};

struct Outlier {
  std::int32_t rank = -1;
  std::uint32_t segment = 0;  ///< on that rank, from 0
  std::uint64_t sos_ns = 0;
  std::uint32_t context = CallPaths::kNone;
  Location location = 0;  ///< of the thread that took so long
};

/// How long the same thing took, over ranks and time (Weber 2016).
struct Variation {
  bool marked = false;  ///< the program marked iterations
  bool stamped =
      false;  ///< all invocations have stamps of their own; else, and if not marked, they are inferred
  std::uint32_t procedure = CallPaths::kNone;  ///< of inferred invocations
  std::uint32_t context = CallPaths::kNone;    ///< its frame with the most time
  std::uint64_t median_ns = 0;                 ///< of all segments' SOS-times
  std::vector<std::int32_t> ranks;             ///< of the rows, this analyst's share, in order
  std::vector<std::vector<Segment>> rows;      ///< lengths may differ
  std::vector<Outlier> outliers;               ///< this analyst's share, in the order of the rows
};

/// A mark of the program on a time line.
struct IterationMark {
  std::uint64_t ns = 0;
  std::uint64_t number = 0;
};

struct VariationOptions {
  /// Of each of the store's time lines; where any rank has some, they make the segments.
  std::span<const std::vector<IterationMark>> marks = {};
  /// The procedure to use instead of marks and of the dominant one; kNone: choose.
  std::uint32_t procedure = CallPaths::kNone;
};

/// Collective. The dominant procedure is the one with the highest inclusive time among those that were
/// invoked at least twice per rank, summed over call paths; a sampler sees an invocation when the first MPI
/// call path below the procedure recurs (recurrence.hpp), or by its stamps, as of marked and parallel
/// regions. A procedure whose invocations divide its time so unevenly that on most ranks one of them has
/// nearly all of it (a loop over input lines, one of which starts the computation) is taken only where there
/// is no other. Of each process its first time line counts. `before` is one made of the same `sums` that is
/// of no more use: its memory serves again, as there may be millions of segments, and so do its segments
/// where a procedure begins anew with the same calls.
Variation variation(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                    const ProcedureSums& sums, const VariationOptions& options = {}, Variation&& before = {});

}  // namespace culprit::waits
