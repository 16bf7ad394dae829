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

/// `iteration` or `invocation`.
[[nodiscard]] const char* segment_name(const database::Variation& variation);

/// Draws values of segments over ranks and time, cold to hot by how far they lie above `median`, and says
/// what a full block is, in the words of `amount`. Columns are numbers of segments; where these do not line
/// up between ranks, times, if they are known. The variation has rows.
void draw_segments(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                   const database::Variation& variation, const SegmentRows& values, std::uint64_t median,
                   const std::function<std::string(std::uint64_t)>& amount);

}  // namespace culprit::viewer
