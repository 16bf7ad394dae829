// Brings loops and inlined instances of a procedure into one nesting, and finds each loop's line
// (docs/algorithms.md 15). A loop is where the branches are that leave it at its header or latches, else
// elsewhere: it lies in the innermost instance that holds all of them and most of its instructions, and its
// line is the smallest of theirs as seen from there. An instance entered anew in every round lies in the
// loop.
#include "structure/nesting.hpp"

#include <algorithm>
#include <map>

namespace culprit::structure {

Nesting::Nesting(const std::vector<Inlined>& inlined, const FlowGraph& graph, const LoopForest& forest,
                 const LineTable& lines)
    : inlined_(inlined), graph_(graph), forest_(forest), lines_(lines), map_(inlined) {
  instances_.reserve(graph.instructions().size());
  for (const Instruction& instruction : graph.instructions())
    instances_.push_back(map_.find(instruction.address));
  for (const Loop& loop : forest.loops) {
    const std::vector<std::uint64_t> branches = controls(loop);
    PlacedLoop placed;
    placed.instance =
        instance_of(loop, branches, loop.parent == kNone ? kNone : placed_[loop.parent].instance);
    placed.place = place_of(loop, branches, placed.instance);
    placed_.push_back(placed);
  }
  unite_copies(forest, placed_, [this](std::uint32_t loop) { return lines_of(loop); });
}

/// The lines of the loop's instructions as seen from its instance.
SourceLines Nesting::lines_of(std::uint32_t loop) const {
  SourceLines lines;
  for (const std::uint32_t block : forest_.loops[loop].blocks)
    for (std::uint32_t i = graph_.blocks()[block].first; i <= graph_.blocks()[block].last; ++i) {
      const Place seen = seen_from(placed_[loop].instance, graph_.instructions()[i].address);
      if (seen.line != 0) lines.emplace(seen.file, seen.line);
    }
  return lines;
}

std::uint64_t Nesting::header_address(std::uint32_t loop) const {
  return graph_.blocks()[forest_.loops[loop].header].range.low;
}

bool Nesting::holds(const Loop& loop, std::uint64_t address) const {
  const std::uint32_t block = graph_.block_at(address);
  return block != kNone && std::ranges::binary_search(loop.blocks, block);
}

/// Whether one of the branch's own ways leads out of the loop. A call before it may as well, to where an
/// exception is handled; that does not control the loop.
bool Nesting::branch_leaves(const Loop& loop, const Instruction& branch) const {
  return !holds(loop, branch.target) || !holds(loop, branch.end());
}

std::vector<std::uint64_t> Nesting::controls(const Loop& loop) const {
  std::vector<std::uint64_t> near, far;
  for (const std::uint32_t block : loop.blocks) {
    const FlowGraph::Block& candidate = graph_.blocks()[block];
    if (!candidate.branches || !branch_leaves(loop, graph_.instructions()[candidate.last])) continue;
    const bool at_end = block == loop.header || std::ranges::find(loop.latches, block) != loop.latches.end();
    (at_end ? near : far).push_back(graph_.instructions()[candidate.last].address);
  }
  return near.empty() ? far : near;
}

/// Descends from `around`, the instance of the loop's parent, as long as one callee holds the loop.
std::uint32_t Nesting::instance_of(const Loop& loop, const std::vector<std::uint64_t>& controls,
                                   std::uint32_t around) const {
  std::map<std::uint32_t, std::size_t> counts;
  std::size_t total = 0;
  for (const std::uint32_t block : loop.blocks)
    for (std::uint32_t i = graph_.blocks()[block].first; i <= graph_.blocks()[block].last; ++i, ++total)
      ++counts[instances_[i]];
  const auto share = [&](std::uint32_t instance) {
    std::size_t inside = 0;
    for (const auto& [other, count] : counts)
      if (map_.within(other, instance)) inside += count;
    return inside;
  };
  const std::uint64_t anchor = controls.empty() ? graph_.blocks()[loop.header].range.low : controls.front();
  std::uint32_t found = around;
  for (const std::uint32_t callee : map_.chain(map_.find(anchor))) {
    if (!map_.within(callee, around) || callee == around) continue;
    const bool all = std::ranges::all_of(
        controls, [&](std::uint64_t address) { return map_.within(map_.find(address), callee); });
    const std::size_t inside = share(callee);
    const bool entered_each_round = holds(loop, inlined_[callee].entry);
    // An instance whose first instructions were hoisted or merged away seems to be entered at the loop
    // itself.
    const bool most = entered_each_round ? (total - inside) * 8 <= total : inside * 2 >= total;
    if (!all || !most) break;
    found = callee;
  }
  return found;
}

Place Nesting::seen_from(std::uint32_t instance, std::uint64_t address) const {
  const std::uint32_t innermost = map_.find(address);
  if (innermost == instance) return lines_.find(address);
  std::uint32_t callee = innermost;
  while (callee != kNone && inlined_[callee].parent != instance) callee = inlined_[callee].parent;
  return callee == kNone ? Place{} : inlined_[callee].called;
}

Place Nesting::place_of(const Loop& loop, const std::vector<std::uint64_t>& controls,
                        std::uint32_t instance) const {
  Place best;
  const auto consider = [&](std::uint64_t address) {
    const Place seen = seen_from(instance, address);
    if (seen.line == 0) return;
    if (best.line == 0) best = seen;
    if (seen.file == best.file) best.line = std::min(best.line, seen.line);
  };
  std::ranges::for_each(controls, consider);
  if (best.line != 0) return best;
  consider(graph_.blocks()[loop.header].range.low);
  for (const std::uint32_t latch : loop.latches)
    consider(graph_.instructions()[graph_.blocks()[latch].last].address);
  return best;
}

void Nesting::append_instances(std::uint32_t from, std::uint32_t to, std::vector<Element>& path) const {
  for (const std::uint32_t instance : map_.chain(to))
    if (instance != from && map_.within(instance, from)) path.push_back({Scope::Kind::inlined, instance});
}

void Nesting::append_loop(std::uint32_t loop, std::vector<Element>& path) const {
  const std::uint32_t parent = forest_.loops[loop].parent;
  std::uint32_t around = kNone;
  if (parent != kNone) {
    append_loop(parent, path);
    const PlacedLoop &inner = placed_[loop], &outer = placed_[parent];
    if (inner.place.line != 0 && inner.place == outer.place && inner.instance == outer.instance) return;
    around = outer.instance;
  }
  append_instances(around, placed_[loop].instance, path);
  path.push_back({Scope::Kind::loop, loop});
}

Nesting::Position Nesting::position(std::uint64_t address) const {
  const std::uint32_t block = graph_.block_at(address);
  return {map_.find(address), block == kNone ? kNone : forest_.innermost[block]};
}

std::vector<Nesting::Element> Nesting::path(Position position) const {
  std::vector<Element> path;
  auto [instance, loop] = position;
  const auto fits = [this, within = instance](std::uint32_t around) {
    return map_.within(within, around) || map_.within(around, within);
  };
  while (loop != kNone && !fits(placed_[loop].instance)) loop = forest_.loops[loop].parent;
  if (loop != kNone) append_loop(loop, path);
  append_instances(loop == kNone ? kNone : placed_[loop].instance, instance, path);
  return path;
}

InlineMap::InlineMap(const std::vector<Inlined>& inlined) : inlined_(inlined) {
  for (const Inlined& instance : inlined)
    for (const Range& range : instance.ranges) {
      starts_.push_back(range.low);
      starts_.push_back(range.high);
    }
  std::ranges::sort(starts_);
  starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
  instances_.assign(starts_.size(), kNone);
  // Parents come first, so that inner instances overwrite their part.
  for (std::uint32_t i = 0; i < inlined.size(); ++i)
    for (const Range& range : inlined[i].ranges) {
      const auto first = std::ranges::lower_bound(starts_, range.low) - starts_.begin();
      const auto last = std::ranges::lower_bound(starts_, range.high) - starts_.begin();
      std::fill(instances_.begin() + first, instances_.begin() + last, i);
    }
}

std::uint32_t InlineMap::find(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(starts_, address);
  return after == starts_.begin() ? kNone : instances_[static_cast<std::size_t>(after - starts_.begin()) - 1];
}

std::vector<std::uint32_t> InlineMap::chain(std::uint32_t instance) const {
  std::vector<std::uint32_t> chain;
  for (; instance != kNone; instance = inlined_[instance].parent) chain.push_back(instance);
  std::ranges::reverse(chain);
  return chain;
}

bool InlineMap::within(std::uint32_t inner, std::uint32_t outer) const {
  if (outer == kNone) return true;
  while (inner != kNone && inner > outer) inner = inlined_[inner].parent;
  return inner == outer;
}

}  // namespace culprit::structure
