#pragma once

#include "database/contents.hpp"
#include "findings/segment_metrics.hpp"
#include "text/frame_json.hpp"
#include "text/screen.hpp"

#include <cstdint>
#include <ostream>
#include <string>

// Metrics of segments as `variation` shows them.
namespace culprit::viewer {

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
