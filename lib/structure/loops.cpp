// The loops of one procedure (docs/algorithms.md 15). Natural loops: an edge to a block that dominates its
// origin is a back edge; all back edges to one header make one loop, of the header and what reaches a latch
// without passing it. What cycles remain without back edges have several entries: each strongly connected
// part is a loop. Dominators by Lengauer and Tarjan (Boost), asked in constant time from a numbering of their
// tree. Loops nest by size. Not sought beyond 16384 blocks. Cost: near linear in edges, and the loops' sizes.
//
// Unites the loops that a compiler made of one (vectorised body and remainder; docs/algorithms.md 15): among
// siblings of one file, a loop whose lines are all lines of another that begins earlier gets its place;
// unless that one holds a loop at the same place. Level by level, as copies have copies inside. Quadratic in
// siblings, of which at most 64 are compared.
#include "structure/loops.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>
#include <boost/graph/strong_components.hpp>

namespace culprit::structure {

namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
using Blocks = std::vector<std::uint32_t>;

/// Dominance, answered in constant time from the numbering of a walk over the dominator tree. Vertex n,
/// beyond the blocks, precedes all roots.
class Dominance {
 public:
  explicit Dominance(const FlowGraph& graph) {
    const std::size_t count = graph.blocks().size();
    Graph flow(count + 1);
    for (std::size_t i = 0; i < count; ++i)
      for (const std::uint32_t next : graph.blocks()[i].successors) boost::add_edge(i, next, flow);
    for (const std::uint32_t root : graph.roots()) boost::add_edge(count, root, flow);
    std::vector<Graph::vertex_descriptor> parent(count + 1, Graph::null_vertex());
    boost::lengauer_tarjan_dominator_tree(
        flow, count,
        boost::make_iterator_property_map(parent.begin(), boost::get(boost::vertex_index, flow)));
    number(parent, count);
  }
  [[nodiscard]] bool dominates(std::uint32_t a, std::uint32_t b) const {
    return enter_[a] != 0 && enter_[a] <= enter_[b] && leave_[b] <= leave_[a];
  }

 private:
  void number(const std::vector<Graph::vertex_descriptor>& parent, std::size_t root) {
    std::vector<std::vector<std::size_t>> children(parent.size());
    for (std::size_t i = 0; i < parent.size(); ++i)
      if (parent[i] != Graph::null_vertex()) children[parent[i]].push_back(i);
    enter_.assign(parent.size(), 0);
    leave_.assign(parent.size(), 0);
    std::uint32_t clock = 0;
    std::vector<std::pair<std::size_t, std::size_t>> path{{root, 0}};
    enter_[root] = ++clock;
    while (!path.empty()) {
      auto& [vertex, next] = path.back();
      if (next < children[vertex].size()) {
        const std::size_t child = children[vertex][next++];
        enter_[child] = ++clock;
        path.emplace_back(child, 0);
      } else {
        leave_[vertex] = ++clock;
        path.pop_back();
      }
    }
  }
  std::vector<std::uint32_t> enter_, leave_;  // enter 0: never reached
};

std::vector<Blocks> predecessors(const FlowGraph& graph) {
  std::vector<Blocks> before(graph.blocks().size());
  for (std::uint32_t i = 0; i < before.size(); ++i)
    for (const std::uint32_t next : graph.blocks()[i].successors) before[next].push_back(i);
  return before;
}

/// The header and all that reaches a latch without passing it.
Blocks body_of(std::uint32_t header, const Blocks& latches, const std::vector<Blocks>& before) {
  std::vector<bool> inside(before.size(), false);
  inside[header] = true;
  Blocks body{header}, open;
  const auto enter = [&](std::uint32_t block) {
    if (inside[block]) return;
    inside[block] = true;
    body.push_back(block);
    open.push_back(block);
  };
  std::ranges::for_each(latches, enter);
  while (!open.empty()) {
    const std::uint32_t block = open.back();
    open.pop_back();
    std::ranges::for_each(before[block], enter);
  }
  std::ranges::sort(body);
  return body;
}

std::vector<Loop> natural_loops(const Dominance& dominance, const std::vector<Blocks>& before) {
  std::vector<Loop> loops;
  for (std::uint32_t header = 0; header < before.size(); ++header) {
    Loop loop;
    loop.header = header;
    for (const std::uint32_t tail : before[header])
      if (dominance.dominates(header, tail)) loop.latches.push_back(tail);
    if (loop.latches.empty()) continue;
    loop.blocks = body_of(header, loop.latches, before);
    loops.push_back(std::move(loop));
  }
  return loops;
}

/// The strongly connected parts that are left without back edges, each extended by the natural loops in it.
std::vector<Loop> irreducible_loops(const FlowGraph& graph, const Dominance& dominance,
                                    const std::vector<Blocks>& before, const std::vector<Loop>& natural) {
  const std::size_t count = graph.blocks().size();
  Graph forward(count);
  for (std::uint32_t i = 0; i < count; ++i)
    for (const std::uint32_t next : graph.blocks()[i].successors)
      if (!dominance.dominates(next, i)) boost::add_edge(i, next, forward);
  std::vector<std::uint32_t> part(count, 0);
  boost::strong_components(
      forward, boost::make_iterator_property_map(part.begin(), boost::get(boost::vertex_index, forward)));
  std::map<std::uint32_t, Blocks> parts;
  for (std::uint32_t i = 0; i < count; ++i) parts[part[i]].push_back(i);
  std::vector<Loop> loops;
  for (auto& [id, blocks] : parts) {
    if (blocks.size() < 2) continue;
    const auto inside = [&part, id = id](std::uint32_t block) { return part[block] == id; };
    const auto entered = [&](std::uint32_t block) { return !std::ranges::all_of(before[block], inside); };
    Loop loop;
    loop.natural = false;
    const auto entry = std::ranges::find_if(blocks, entered);
    loop.header = entry == blocks.end() ? blocks.front() : *entry;
    for (const std::uint32_t tail : before[loop.header])
      if (inside(tail)) loop.latches.push_back(tail);
    loop.blocks = blocks;
    for (const Loop& inner : natural) {
      if (!inside(inner.header)) continue;
      Blocks both;
      std::ranges::set_union(loop.blocks, inner.blocks, std::back_inserter(both));
      loop.blocks = std::move(both);
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

void nest(LoopForest& forest, std::size_t blocks) {
  std::ranges::sort(forest.loops, [](const Loop& a, const Loop& b) {
    return a.blocks.size() != b.blocks.size() ? a.blocks.size() > b.blocks.size() : a.header < b.header;
  });
  forest.innermost.assign(blocks, kNone);
  for (std::uint32_t i = 0; i < forest.loops.size(); ++i) {
    forest.loops[i].parent = forest.innermost[forest.loops[i].header];
    for (const std::uint32_t block : forest.loops[i].blocks) forest.innermost[block] = i;
  }
}

}  // namespace

LoopForest find_loops(const FlowGraph& graph) {
  LoopForest forest;
  const std::size_t count = graph.blocks().size();
  if (count == 0 || count > kMostBlocks) {
    forest.innermost.assign(count, kNone);
    return forest;
  }
  const Dominance dominance(graph);
  const std::vector<Blocks> before = predecessors(graph);
  forest.loops = natural_loops(dominance, before);
  std::vector<Loop> irreducible = irreducible_loops(graph, dominance, before, forest.loops);
  std::ranges::move(irreducible, std::back_inserter(forest.loops));
  nest(forest, count);
  return forest;
}

namespace {

/// More loops than this side by side are generated code; comparing them pairwise would take too long.
constexpr std::size_t kMostSiblings = 64;

class Copies {
 public:
  Copies(const LoopForest& forest, std::vector<PlacedLoop>& placed,
         const std::function<SourceLines(std::uint32_t)>& lines_of)
      : forest_(forest), placed_(placed), lines_of_(lines_of), scope_(placed.size(), 0) {}

  /// Level by level, because loops are siblings where those around them mean the same to the user.
  void unite() {
    std::vector<std::vector<std::uint32_t>> levels;
    std::vector<std::size_t> depth(placed_.size(), 0);
    for (std::uint32_t i = 0; i < placed_.size(); ++i) {
      const std::uint32_t parent = forest_.loops[i].parent;
      if (parent != kNone) depth[i] = depth[parent] + 1;
      levels.resize(std::max(levels.size(), depth[i] + 1));
      levels[depth[i]].push_back(i);
    }
    for (const std::vector<std::uint32_t>& level : levels) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> siblings;
      for (const std::uint32_t loop : level)
        if (placed_[loop].place.line != 0) siblings[{around(loop), placed_[loop].instance}].push_back(loop);
      for (const auto& [key, loops] : siblings) compare(loops);
      for (const std::uint32_t loop : level) number(loop);
    }
  }

 private:
  /// The number of the scope that `loop` lies in, 0: of none.
  [[nodiscard]] std::uint32_t around(std::uint32_t loop) const {
    const std::uint32_t parent = forest_.loops[loop].parent;
    return parent == kNone ? 0 : scope_[parent];
  }

  void number(std::uint32_t loop) {
    const PlacedLoop& own = placed_[loop];
    const auto next = static_cast<std::uint32_t>(scopes_.size()) + 1;
    scope_[loop] =
        scopes_.try_emplace({around(loop), own.instance, own.place.file, own.place.line}, next).first->second;
  }

  void compare(const std::vector<std::uint32_t>& siblings) {
    const Place first = placed_[siblings.front()].place;
    const bool differ =
        std::ranges::any_of(siblings, [&](std::uint32_t i) { return placed_[i].place != first; });
    if (!differ || siblings.size() > kMostSiblings) return;
    std::vector<SourceLines> lines;
    lines.reserve(siblings.size());
    for (const std::uint32_t loop : siblings) lines.push_back(lines_of_(loop));
    for (std::size_t copy = 0; copy < siblings.size(); ++copy) {
      Place best = placed_[siblings[copy]].place;
      for (std::size_t other = 0; other < siblings.size(); ++other) {
        const Place place = placed_[siblings[other]].place;
        if (place.file != best.file || place.line >= best.line) continue;
        if (!std::ranges::includes(lines[other], lines[copy])) continue;
        if (!holds_loop_at(siblings[other], placed_[siblings[copy]].place)) best = place;
      }
      placed_[siblings[copy]].place = best;
    }
  }

  /// Whether a loop within `outer` begins at `place`.
  [[nodiscard]] bool holds_loop_at(std::uint32_t outer, const Place& place) const {
    for (std::uint32_t i = outer + 1; i < placed_.size(); ++i) {
      if (placed_[i].place != place) continue;
      std::uint32_t around = forest_.loops[i].parent;
      while (around != kNone && around != outer) around = forest_.loops[around].parent;
      if (around == outer) return true;
    }
    return false;
  }

  const LoopForest& forest_;
  std::vector<PlacedLoop>& placed_;
  const std::function<SourceLines(std::uint32_t)>& lines_of_;
  std::vector<std::uint32_t> scope_;  // of each loop: equal for copies of one
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> scopes_;
};

}  // namespace

void unite_copies(const LoopForest& forest, std::vector<PlacedLoop>& placed,
                  const std::function<SourceLines(std::uint32_t loop)>& lines_of) {
  Copies(forest, placed, lines_of).unite();
}

}  // namespace culprit::structure
