#pragma once

#include "database/contents.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace culprit::viewer {

/// Segments of a variation that took far longer than the median of all ranks: a single one, or those of a
/// rank with more work in most of its own, which would hide single ones in a list.
struct LongSegments {
  const database::Variation::Outlier* longest = nullptr;  ///< in the variation
  std::size_t count = 1;
  std::size_t of = 1;  ///< how many the rank has; 1 where it is a single one
};

/// The longest first. A rank's are one row where they are more than half of its segments, and three at least.
[[nodiscard]] std::vector<LongSegments> long_segments(const database::Variation& variation);

/// Whether few enough are far longer to be called exceptions: a fifth of all. Ranks that take 30 times as
/// long as others, or segments of two sorts, have no median that says anything.
[[nodiscard]] bool are_exceptions(const database::Variation& variation);

/// ` (392 of them on rank 1, in most of its own)`; empty where no rank has several in most of its own.
[[nodiscard]] std::string slow_ranks_phrase(const database::Variation& variation);

}  // namespace culprit::viewer
