#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/values/shape.hpp"
#include "waits/causes/delay_costs.hpp"
#include "waits/causes/hotspots.hpp"
#include "waits/path/critical_path.hpp"
#include "waits/states/wait_sums.hpp"
#include "waits/timeline/own_times.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/variation/segment_values.hpp"
#include "waits/variation/time_map.hpp"
#include "waits/variation/variation.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::merge {

/// Collective: of each time line, its thread in the database, whose threads (`locations`) rank 0 knows.
/// `of_threads`: ranks are their numbers.
std::vector<std::uint32_t> threads_of(exchange::Communicator& comm, const waits::RankMap& rank_map,
                                      std::span<const database::Location> locations, bool of_threads);

/// Brings the analyses' shares to rank 0 as the database has them: call paths become scopes that people know,
/// what falls together is added, the largest comes first. Each is collective; the others get nothing.
/// Independent of how many ranks there are.
class TraceTables {
 public:
  /// `threads` matters on rank 0 only. What is referred to must outlive it.
  TraceTables(exchange::Communicator& comm, const Shape& shape, std::span<const std::uint32_t> threads)
      : comm_(comm), shape_(shape), threads_(threads) {}

  std::vector<database::Wait> waits(const std::vector<waits::WaitSum>& own);
  std::vector<database::Cause> causes(const std::vector<waits::DelayCost>& own);
  /// `ranks`: that have time lines, over which the mean is taken.
  std::vector<database::CriticalScope> critical_path(const waits::CriticalPath& own,
                                                     const std::vector<waits::OwnTime>& own_times,
                                                     std::uint64_t ranks);
  std::vector<database::Hotspot> hotspots(const std::vector<waits::Hotspot>& own);
  /// `around_marks`: the innermost context around this rank's iteration marks; kNone: it saw none. `values`:
  /// of `events` events, beside the times.
  database::Variation variation(const waits::Variation& own, database::ContextId around_marks,
                                const waits::SegmentValues& values, std::size_t events);

 private:
  database::ContextId gather_around(database::ContextId own);

  exchange::Communicator& comm_;
  const Shape& shape_;
  std::span<const std::uint32_t> threads_;
};

/// Collective: what all ranks did over time, on rank 0, by rank; the others get nothing.
database::TimeMap gather_time_map(exchange::Communicator& comm, const waits::TimeMap& own);

}  // namespace culprit::merge
