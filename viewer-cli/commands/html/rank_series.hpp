#pragma once

#include "commands/html/packed_values.hpp"
#include "commands/html/page_tree.hpp"
#include "views/figures.hpp"

#include <cstddef>
#include <vector>

namespace culprit::viewer {

/// The values of the trees' rows over the threads of the role that spends most there, of time,
/// own time and waiting:
/// the heaviest rows first, until about `bytes` are written. Beyond some hundred threads the page has groups
/// of neighbours, with the least, the mean and the largest of each. Reads per-thread values.
Json rank_series(const views::Figures& figures, const std::vector<const PageTree*>& trees, std::size_t bytes);

}  // namespace culprit::viewer
