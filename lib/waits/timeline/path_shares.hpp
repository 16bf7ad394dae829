#pragma once

#include "waits/timeline/regions.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace culprit::waits {

/// A call path of the united tree that stands for (a part of) a region of a time line.
struct PathOfRegion {
  /// kBetween: time between two calls in which nothing was sampled; `region` says which.
  std::uint32_t context = 0;
  Region region;
  static constexpr std::uint32_t kBetween = ~std::uint32_t{0};

  friend auto operator<=>(const PathOfRegion&,
                          const PathOfRegion&) = default;  // NOLINT(modernize-use-nullptr)
};

/// amount · part / whole, rounded down; 0 where the whole is nothing.
std::uint64_t share(std::uint64_t amount, std::uint64_t part, std::uint64_t whole);

/// A path, and what it weighs among others.
struct PathWeight {
  PathOfRegion path;
  std::uint64_t weight = 0;
};

/// The call paths of a region with the parts of `amounts` that they get: each amount is divided in proportion
/// to the weights, in whole numbers that add up to it (what rounding leaves goes to the heaviest path). A
/// call is its own path, whatever the weights; a gap without weights is kBetween.
struct PathShare {
  PathOfRegion path;
  std::vector<std::uint64_t> amounts;
};
/// The same over any paths that weigh something; nothing where none does.
std::vector<PathShare> divide_over_paths(const std::vector<PathWeight>& weights,
                                         const std::vector<std::uint64_t>& amounts);
std::vector<PathShare> divide_over_paths(const Region& region,
                                         const std::map<std::uint32_t, std::uint64_t>& weights,
                                         const std::vector<std::uint64_t>& amounts);

}  // namespace culprit::waits
