#pragma once

#include "views/folded_tree.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace culprit::views {

/// Pairs the loops of one scope in two runs, all of one file. Order is kept: a loop that stands before
/// another one in the first run does so in the second. Among all such pairings the one is taken whose loops
/// contain the most alike and stand at the same lines relative to their procedure. Loops that contain
/// different things and stand at different lines are no pair. `a` and `b` are scopes of the trees.
std::vector<std::pair<std::uint32_t, std::uint32_t>> align_loops(const FoldedTree& tree_a,
                                                                 std::span<const std::uint32_t> a,
                                                                 const FoldedTree& tree_b,
                                                                 std::span<const std::uint32_t> b);

}  // namespace culprit::views
