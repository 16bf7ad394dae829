#pragma once

#include "commands/list.hpp"
#include "database/contents.hpp"
#include "findings/segment_metrics.hpp"
#include "text/call_path_text.hpp"
#include "text/frame_json.hpp"
#include "text/screen.hpp"
#include "text/table.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

// Variation over time (`variation`): how long the same thing took, over ranks and invocations.
namespace culprit::viewer {

/// The `finer`-th level; where nothing but named procedures was segmented, the first of those. Throws
/// UsageError where there are fewer levels.
const database::Variation& variation_of(const database::Contents& experiment, std::uint32_t finer);
/// Of the procedure with this name, with or without parameters. Throws UsageError, which names those that
/// there are, where it is none of them.
const database::Variation& variation_of(const database::Contents& experiment, const std::string& procedure);

/// `metric`: shown by that one instead of the time (JSON: beside it); empty: none. Throw UsageError where
/// there is no such metric.
Json variation_json(const database::Contents& experiment, const database::Variation& variation,
                    const std::string& metric);
void write_variation(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                     const database::Variation& variation, const std::string& metric);
/// What took far longer than the median. `level`: the variation's place among those of the run.
List outliers_list(const database::Contents& experiment, const database::Variation& variation,
                   const ListOptions& options, std::uint32_t level = 0);
/// A row per rank and segment: when it began, its time, all metrics, and the paths of what is unusual.
Table segments_table(const database::Contents& experiment, const database::Variation& variation);

// Metrics of segments as `variation` shows them.

/// `Iterations that the program marked`, ...
std::string name_segments(const database::Contents& experiment, const database::Variation& variation);

/// `invocation 33`; where numbers do not line up between ranks also when it began: `invocation 33 (at 1.204
/// s)`.
std::string name_segment(const database::Contents& experiment, const database::Variation& variation,
                         std::int32_t rank, std::uint32_t segment);

/// What else was counted in the segments: a table, after their times. Nothing where nothing was.
void write_metrics_of_segments(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                               const database::Variation& variation);

/// One metric over ranks and segments, and where it is unusually high.
void write_metric_over_segments(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                                const database::Variation& variation, const SegmentMetric& metric);

Json metrics_json(const database::Contents& experiment, const database::Variation& variation);
/// Adds one metric's values by row and segment, and where it is unusually high.
void add_metric(Json& json, const database::Contents& experiment, const database::Variation& variation,
                const SegmentMetric& metric);

}  // namespace culprit::viewer
