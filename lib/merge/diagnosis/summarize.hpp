#pragma once

#include "database/database.hpp"
#include "exchange/communicator.hpp"
#include "merge/values/plan.hpp"
#include "merge/values/shape.hpp"
#include "merge/values/tile_sums.hpp"

#include <cstdint>
#include <vector>

namespace culprit::merge {

/// The accumulators of one role, as blame needs them: dense by context; over the threads that are compared
/// where not said otherwise. Rank 0 only.
struct RoleTotals {
  std::vector<metrics::Accumulator> time, idleness;  ///< inclusive
  std::vector<metrics::Accumulator> with_brief;  ///< idleness of all threads; empty where all are compared
  std::vector<metrics::Uint128> weight_sq;
  std::vector<std::uint64_t> blocked;
  std::vector<metrics::Uint128> covered;

  [[nodiscard]] const std::vector<metrics::Accumulator>& idleness_of_all() const {
    return with_brief.empty() ? idleness : with_brief;
  }
};

/// Summaries of all roles and metrics. Rank 0 only.
struct Summaries {
  std::vector<database::Summary> contexts, flat;  ///< by (role, metric)
  std::vector<RoleTotals> roles;
};

/// Collective: reduces every rank's accumulators, numbered as Roles::sums, which are given up. Each rank
/// combines a range of them, all-to-all; rank 0 gathers the ranges. Exact, so the partition does not show.
Summaries summarize(exchange::Communicator& comm, const Shape& shape, const Plan& plan,
                    std::vector<RoleSums>& roles);

}  // namespace culprit::merge
