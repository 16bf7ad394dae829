#pragma once

#include "metrics/accumulator.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace culprit::merge {

/// Accumulators of many scopes, row-major: scope × metrics. Apart, since few scopes have exclusive values.
struct Sums {
  std::vector<metrics::Accumulator> inclusive, exclusive;

  Sums() = default;
  explicit Sums(std::size_t size) : inclusive(size), exclusive(size) {}
};

/// The accumulators of one role over the threads seen so far.
struct RoleSums {
  Sums contexts, flat;
  std::vector<metrics::Uint128> weight_sq;  ///< per context, inclusive
  std::vector<std::uint64_t> blocked;       ///< per context, inclusive

  [[nodiscard]] bool used() const { return !weight_sq.empty(); }
};

}  // namespace culprit::merge
