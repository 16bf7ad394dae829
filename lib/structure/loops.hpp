#pragma once

#include "structure/flow_graph.hpp"

#include <cstdint>
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

}  // namespace culprit::structure
