#pragma once

#include "metrics/accumulator.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace culprit::merge {

/// The accumulators of one role over the threads seen so far, row-major by metric; what the rows are, the
/// Plan says.
struct RoleSums {
  std::vector<metrics::Accumulator> inclusive;       ///< per group
  std::vector<metrics::Accumulator> exclusive;       ///< per exclusive row
  std::vector<metrics::Accumulator> flat_inclusive;  ///< per flat scope
  std::vector<metrics::Accumulator> flat_exclusive;  ///< per flat scope
  std::vector<metrics::Uint128> weight_sq;           ///< per group, of its own slots alone
  std::vector<std::uint64_t> blocked;                ///< likewise
  std::vector<metrics::Uint128> covered;             ///< per group, of all below it: blame::RoleView::covered

  [[nodiscard]] bool used() const { return !weight_sq.empty(); }
};

}  // namespace culprit::merge
