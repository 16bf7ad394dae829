#pragma once

#include "database/contents.hpp"
#include "text/screen.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
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

/// `of`, or `in` where the code is a procedure that iterates in a way that is not known.
[[nodiscard]] const char* segment_preposition(const database::Contents& experiment,
                                              const database::Variation& variation);

/// The procedure of the user that a map of code names around a context: code without a symbol, whose address
/// says nothing, is that of the function around it that has one. kNone: other code.
[[nodiscard]] database::ContextId procedure_on_map(const database::Contents& experiment,
                                                   database::ContextId context);

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

// When segments of a variation began, and whether the same number is the same thing on all ranks.
namespace culprit::viewer {

/// Whether a segment's number is that of the same segment on all ranks: the program marked them, or all ranks
/// have equally many. Invocations that are inferred from each rank's own calls may differ in number; then the
/// n-th of one rank and the n-th of another need not belong together, and only time compares them.
[[nodiscard]] bool line_up(const database::Variation& variation);

/// Whether it is known when segments began. Older writers do not say.
[[nodiscard]] bool have_begins(const database::Variation& variation);

/// Since the first call of any rank, in s; nothing where it is not known.
[[nodiscard]] std::optional<double> begin_s(const database::Contents& experiment,
                                            const database::Variation::Row& row, std::size_t segment);

/// How many the ranks have: `551 to 570`.
[[nodiscard]] std::string numbers_of_segments(const database::Variation& variation);

}  // namespace culprit::viewer
