#pragma once

#include "structure/line_table.hpp"
#include "structure/loops.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace culprit::structure {

/// A loop with the place in the source that its control flow shows.
struct PlacedLoop {
  std::uint32_t instance = kNone;  ///< the innermost inlined instance it lies in
  Place place;
};

using SourceLines = std::set<std::pair<std::uint32_t, std::uint32_t>>;  ///< file and line

/// Compilers make several loops of one: a vectorised body and a remainder, one for each value of a condition.
/// Where one of them has lost the line of the source loop (its branches bear a line of the body), it gets
/// that of the other: a sibling that has all lines of its and begins earlier. A copy of an inner loop, left
/// over where the first round of the outer one was peeled off, is none of these: its line is that of a loop
/// within the sibling.
void unite_copies(const LoopForest& forest, std::vector<PlacedLoop>& placed,
                  const std::function<SourceLines(std::uint32_t loop)>& lines_of);

}  // namespace culprit::structure
