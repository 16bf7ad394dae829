#pragma once

#include "commands/html/packed_values.hpp"
#include "commands/html/page_tree.hpp"

#include <cstddef>

namespace culprit::viewer {

/// Who waits for whom, and who sends to whom: `[{"title","unit","from","to","threads","per_group","labels",
/// "cells":[[from, to, amount]],"largest":[...]}]`. Beyond `side` threads, cells are of groups of neighbours;
/// the largest pairs are named one by one.
Json rank_matrices(const database::Contents& experiment, const PageTree& calls, std::size_t side);

}  // namespace culprit::viewer
