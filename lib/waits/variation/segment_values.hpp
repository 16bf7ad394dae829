#pragma once

#include "waits/states/matching_pass.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/variation/variation.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace culprit::waits {

/// What was counted of one event in the segments of one row.
struct RowValues {
  std::vector<std::uint64_t> values;  ///< by segment: in the event's unit
  std::vector<std::uint32_t>
      contexts;  ///< the call path where most of it was counted; CallPaths::kNone: unknown
};

/// By row of a variation, and event.
using SegmentValues = std::vector<std::vector<RowValues>>;

/// What was counted of each of `events` events in the segments of `found` (this analyst's rows), MPI calls
/// left out as they are of SOS-times, so that both say of the same code. A reading of a counter does not say
/// when between it and the one before: it is taken to have happened evenly, and as far as no call lies in
/// between, where it was read. Readings of events beyond `events` are left out.
SegmentValues segment_values(const RankMap& rank_map, const Matched& matched, const Variation& found,
                             std::size_t events);

}  // namespace culprit::waits
