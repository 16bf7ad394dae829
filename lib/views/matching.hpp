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
/// below matched ones correspond, in this order of preference, when
/// - name, file and load module (both without directories) are the same; inlined or not does not matter, and
///   neither do versions of libraries or the program's own file name;
/// - the name is the same, or the name without parameters and template arguments;
/// - they are loops of their procedure's file, or of the same one: aligned in their order, by what they
/// contain and by their line relative
///   to their procedure, so that lines may shift;
/// - one of them lies below up to kLevelsSkipped levels that the other run does not have: inlined procedures
///   and loops, or procedures of which it makes up most; such a level keeps only its remaining costs;
/// - they are procedures of different names that contain much the same: renamed.
/// Deterministic. Parents come before children.
std::vector<MatchedScope> match(const FoldedTree& a, const FoldedTree& b);

/// How many levels of scopes that only one run has are looked through.
inline constexpr std::uint32_t kLevelsSkipped = 4;

}  // namespace culprit::views
