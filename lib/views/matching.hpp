#pragma once

#include "views/folded_tree.hpp"

#include <cstdint>
#include <vector>

namespace culprit::views {

/// A scope of two runs: the scopes that correspond to each other. Several on one side: levels between them
/// and their parent are missing on the other. One side empty: only the other run has it.
struct MatchedScope {
  std::uint32_t parent = database::kNone;
  std::vector<std::uint32_t> children;
  std::vector<std::uint32_t> a, b;  ///< scopes of the first and the second tree
};

/// Matches two trees from the root downwards; every scope of either tree is in exactly one result. Scopes
/// below matched ones correspond, in this order of preference (docs/algorithms.md 17), when name, file and
/// load module are the same, whatever their directories and versions, inlined or not; when the name is, or
/// the name without parameters and template arguments; when they are loops of one file, by what they contain
/// and where in their procedure they lie; when one lies below up to kLevelsSkipped levels that the other run
/// does not have, which keep only their remaining costs; or when they are procedures that contain much the
/// same. Deterministic. Parents come before children.
std::vector<MatchedScope> match(const FoldedTree& a, const FoldedTree& b);

/// How many levels of scopes that only one run has are looked through.
inline constexpr std::uint32_t kLevelsSkipped = 4;

}  // namespace culprit::views
