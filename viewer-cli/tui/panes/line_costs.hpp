#pragma once

#include "tui/state/workspace.hpp"

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace culprit::viewer::tui {

/// What each line of a file costs, over all call paths: one value per column asked for.
using LineCosts = std::map<std::uint32_t, std::vector<double>>;

/// Sums the flat view's statements of a file.
LineCosts costs_of_lines(Workspace& workspace, std::string_view file,
                         const std::vector<NumberColumn>& columns);

}  // namespace culprit::viewer::tui
