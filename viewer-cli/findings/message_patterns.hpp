#pragma once

#include "findings/diagnosis.hpp"
#include "views/figures.hpp"

#include <cstddef>
#include <string>
#include <vector>

// What of communication is worth a sentence (docs/diagnosis.md).
namespace culprit::viewer {

/// Many small messages at one call path, a few large ones, or synchronization without data, where that takes
/// 5 % of the run or more; most time first, at most two. Names are shortened to `width` columns.
std::vector<std::string> message_pattern_phrases(const views::Figures& figures, const Diagnosis& diagnosis,
                                                 std::size_t width, bool unicode);

}  // namespace culprit::viewer
