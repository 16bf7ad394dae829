#pragma once

#include "database/contents.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What else was counted in the segments of a variation, beside the time that they took (`variation`): does
// what took long also have many page faults, floating point exceptions, ...?
namespace culprit::viewer {

/// A metric over segments. The last segment of each rank is left out of all sums: it is cut off somewhere.
struct SegmentMetric {
  std::size_t index = 0;   ///< in database::Variation::Row::values
  std::string name, unit;  ///< unit: "s" for times
  double divisor = 1;      ///< from the database's unit to that
  std::uint64_t median = 0;
  /// Of the segments that took unusually long; not set where none did.
  std::optional<std::uint64_t> median_of_long;
  /// With the time outside MPI: Pearson's coefficient, -1 to 1. Not set where either is everywhere the same.
  std::optional<double> correlation;

  [[nodiscard]] double value(std::uint64_t raw) const { return static_cast<double>(raw) / divisor; }
};

/// All that the run has, in the order of the database.
std::vector<SegmentMetric> segment_metrics(const database::Contents& experiment,
                                           const database::Variation& variation);

/// The one with this name. Throws UsageError, which names those that there are, where there is none.
SegmentMetric segment_metric(const database::Contents& experiment, const database::Variation& variation,
                             const std::string& name);

/// A segment in which a metric is unusually high.
struct HighSegment {
  std::int32_t rank = -1;
  std::uint32_t segment = 0;
  std::uint64_t value = 0;
  database::ContextId context = database::kNone;  ///< where most of it was counted; kNone: unknown
};

/// Where most of what a metric counted in a segment was counted; kNone: unknown.
database::ContextId context_of(const database::Variation::Row& row, std::size_t metric, std::size_t segment);

/// Those further above the median than five scaled median absolute deviations, as segments that take
/// unusually long are; of counts a deviation is at least the square root of the median. The highest first.
std::vector<HighSegment> high_segments(const database::Variation& variation, const SegmentMetric& metric);

}  // namespace culprit::viewer
