#pragma once

#include "database/contents.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace culprit::viewer {

/// Of each gap between waiting calls that varies from one iteration to the next: how much, what waiting that
/// explains, and that time lines would show who made whom wait; nothing where there are time lines. Names are
/// shortened to `width` columns.
std::vector<std::string> varying_gap_phrases(const database::Contents& experiment, std::size_t width,
                                             bool unicode);

}  // namespace culprit::viewer
