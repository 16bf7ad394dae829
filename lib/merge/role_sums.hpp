#pragma once

#include "metrics/accumulator.hpp"

#include <cstdint>
#include <vector>

namespace culprit::merge {

/// The accumulators of one metric at one scope.
struct Pair {
  metrics::Accumulator inclusive, exclusive;
};

/// The accumulators of one role over the threads seen so far. Row-major: scope × metrics.
struct RoleSums {
  std::vector<Pair> contexts, flat;
  std::vector<metrics::Uint128> weight_sq;  ///< per context, inclusive
  std::vector<std::uint64_t> blocked;       ///< per context, inclusive

  [[nodiscard]] bool used() const { return !contexts.empty(); }
};

}  // namespace culprit::merge
