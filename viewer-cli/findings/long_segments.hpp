#pragma once

#include "database/contents.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace culprit::viewer {

/// Segments of a variation that took far longer than the median of all ranks: those of one number and code,
/// on some ranks, or those of a rank with more work in most of its own. Listed one by one they would hide
/// others.
struct LongSegments {
  const database::Variation::Outlier* longest = nullptr;  ///< in the variation
  std::vector<std::int32_t> ranks = {};                   ///< which have them
  std::size_t count = 1;                                  ///< of a rank
  std::size_t of = 1;  ///< how many the rank has; 1 where it is a single one
};

/// The longest first. A rank's are one row where they are more than half of its segments, and three at least;
/// of the others those with the same number, where numbers line up, that took their time in the same code.
[[nodiscard]] std::vector<LongSegments> long_segments(const database::Variation& variation);

/// Whether few enough are far longer to be called exceptions: a fifth of all. Ranks that take 30 times as
/// long as others, or segments of two sorts, have no median that says anything.
[[nodiscard]] bool are_exceptions(const database::Variation& variation);

/// Whether what they took beyond the median is worth a sentence about the run: they are exceptions, together
/// of 1 % of its length, and no single messages.
[[nodiscard]] bool are_worth_reporting(const database::Contents& experiment,
                                       const database::Variation& variation);

/// `far longer than`, or `longer than` where even the longest took less than half as much again as the
/// median.
[[nodiscard]] const char* longer_phrase(const database::Variation& variation);

/// `rank 0`, or `rank 0 thread 3` where a worker took so long in a parallel region, not the main thread.
[[nodiscard]] std::string outlier_phrase(const database::Contents& experiment,
                                         const database::Variation::Outlier& outlier);

/// ` (392 of them on rank 1, in most of its own)`; empty where no rank has several in most of its own.
[[nodiscard]] std::string slow_ranks_phrase(const database::Variation& variation);

}  // namespace culprit::viewer
