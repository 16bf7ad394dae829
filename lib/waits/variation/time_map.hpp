#pragma once

#include "exchange/communicator.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/variation/variation.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace culprit::waits {

/// Waiting of one pattern in one bin.
struct WaitInBin {
  WaitPattern pattern = WaitPattern::none;
  std::uint32_t bin = 0;
  std::uint64_t ns = 0;
};

/// Which segments of a rank a bin overlaps.
struct SegmentsInBin {
  std::uint32_t first = 0, count = 0;
};

/// What a rank did in each bin of time.
struct TimeMapRow {
  std::int32_t rank = -1;
  std::uint64_t left_first_ns = 0, left_last_ns = 0;  ///< when it left its first call, and its last one
  std::uint64_t outside_ns = 0;  ///< outside MPI, between its MPI_Init and its MPI_Finalize or its last call
  std::uint64_t thread_waits_ns = 0;    ///< of that, what it waited for other threads of its process
  std::vector<std::uint64_t> calls_ns;  ///< by bin: in MPI calls
  std::vector<std::uint32_t> contexts;  ///< by bin: where most of its time went; ~0: nothing is known
  std::vector<WaitInBin> waits;         ///< by pattern, then bin; also parts, completions, waits for threads
  std::vector<SegmentsInBin> segments;  ///< by bin; see find_segments
  std::vector<std::uint64_t> critical_ns =
      {};  ///< by bin: on the critical path; see mark_critical; may be empty
};

/// What the ranks did over time, in bins of equal length.
struct TimeMap {
  std::uint64_t begin_ns = 0, bin_ns = 0;  ///< on the clock of the traces
  std::uint32_t bins = 0;
  std::vector<TimeMapRow> rows;  ///< of this rank of the analysis, in the order of its time lines
};

/// This many bins at most, and this many cells (ranks times bins) about, but kLeastBins bins for any number
/// of ranks: a cell takes ten bytes or so in the database and twice as many in memory.
inline constexpr std::uint64_t kMostBins = 1000, kLeastBins = 64, kMostCells = 1'000'000;

/// Collective. `shown_at`: the context that a call of a context of the united tree is shown at. Of each
/// process its first time line counts. From the first call's enter to the last one's exit on any rank.
TimeMap time_map(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                 const std::function<std::uint32_t(std::uint32_t)>& shown_at);

/// A stretch of a row's time.
struct MarkedTime {
  std::int32_t rank = -1;
  std::uint64_t begin_ns = 0, end_ns = 0;
};
/// Local: adds to the rows of `map` what of the critical path lies in each bin.
void mark_critical(TimeMap& map, std::span<const MarkedTime> path);

/// Local: finds for the rows of `map` which of `variation`'s segments lie in each bin.
void find_segments(TimeMap& map, const Variation& variation);

}  // namespace culprit::waits
