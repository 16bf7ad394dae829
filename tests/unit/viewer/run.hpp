#pragma once

#include "text/screen.hpp"
#include "views/source.hpp"

#include <string>
#include <vector>

namespace culprit::viewer::testing {

/// What `viewer-cli DB words…` prints for a source, without colour.
std::string run(const views::Source& source, const std::vector<std::string>& words, std::size_t width = 100,
                bool unicode = true);

}  // namespace culprit::viewer::testing
