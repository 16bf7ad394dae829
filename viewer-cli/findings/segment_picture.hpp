#pragma once

#include "database/contents.hpp"
#include "text/screen.hpp"

#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <vector>

namespace culprit::viewer {

/// Values of segments, by row of a variation. They outlive this.
using SegmentRows = std::vector<std::span<const std::uint64_t>>;

[[nodiscard]] SegmentRows sos_times(const database::Variation& variation);

/// `iteration` (the program's, or of a loop) or `invocation`.
[[nodiscard]] const char* segment_name(const database::Contents& experiment,
                                       const database::Variation& variation);
/// Whether the segments are iterations of a loop.
[[nodiscard]] bool is_loop(const database::Contents& experiment, const database::Variation& variation);

/// What is drawn of segments.
struct SegmentFigures {
  SegmentRows values;
  std::uint64_t median = 0;
  std::function<std::string(std::uint64_t)> amount;  ///< how a value is written
};

/// Draws values of segments over ranks and time, cold to hot by how far they lie above the median, and
/// says what a full block is. Columns are numbers of segments; where these do not line
/// up between ranks, times, if they are known. The variation has rows.
void draw_segments(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                   const database::Variation& variation, const SegmentFigures& figures);

}  // namespace culprit::viewer
