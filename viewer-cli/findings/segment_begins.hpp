#pragma once

#include "database/contents.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

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
