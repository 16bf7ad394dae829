#pragma once

#include "structure/flow_graph.hpp"
#include "structure/line_table.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace culprit::structure {

/// A loop of the machine code.
struct Loop {
  std::uint32_t header = 0;            ///< block
  std::uint32_t parent = kNone;        ///< the smallest loop around it
  bool natural = true;                 ///< false: entered at several places
  std::vector<std::uint32_t> blocks;   ///< ascending, with those of inner loops
  std::vector<std::uint32_t> latches;  ///< blocks from which an edge leads back to the header
};

/// All loops of one procedure, a parent before its children.
struct LoopForest {
  std::vector<Loop> loops;
  std::vector<std::uint32_t> innermost;  ///< of each block: index into loops, kNone: in none
};

/// Beyond this many blocks a procedure's loops are not sought: Boost's dominator algorithm recurses along
/// paths.
inline constexpr std::size_t kMostBlocks = 16384;

/// Natural loops: an edge t → h whose head dominates its tail is a back edge; all back edges to h make one
/// loop, of h and what reaches some t without passing h. Cycles that remain when back edges are taken away
/// have several entries (irreducible): each strongly connected part counts as one loop whose header is its
/// entry with the lowest address; loops nested in such a part are distinguished only where they are natural.
LoopForest find_loops(const FlowGraph& graph);

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
