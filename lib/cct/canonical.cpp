// The canonical form of a tree (docs/algorithms.md 1): modules in the order of their keys, children sorted by
// (module, offset, kind), nodes numbered in pre-order. It depends on the set of contexts only. Children are
// grouped by counting, sorted per parent, and walked with an explicit stack, since paths may be deeper than
// the machine's. Cost: O(n log n) in the children of one node.
#include "cct/canonical.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace culprit::cct {
namespace {

/// The nodes of `tree` but the super-root, grouped by parent and sorted by frame within each group.
/// `first[p]` and `first[p + 1]` delimit the children of p.
struct Children {
  std::vector<NodeId> nodes;
  std::vector<std::size_t> first;
};

/// Frames in the canonical order: module, offset, kind; the module already in its canonical position.
bool before(const FrameKey& a, const FrameKey& b) {
  if (a.module != b.module) return a.module < b.module;
  if (a.offset != b.offset) return a.offset < b.offset;
  return a.kind < b.kind;
}

Children sorted_children(std::span<const NodeId> parents, std::span<const FrameKey> frames) {
  Children children{std::vector<NodeId>(frames.size() - 1), std::vector<std::size_t>(frames.size() + 1)};
  for (std::size_t i = 1; i < frames.size(); ++i) ++children.first[parents[i] + 1];
  std::partial_sum(children.first.begin(), children.first.end(), children.first.begin());
  std::vector<std::size_t> next(children.first.begin(), children.first.end() - 1);
  for (std::size_t i = 1; i < frames.size(); ++i) children.nodes[next[parents[i]]++] = static_cast<NodeId>(i);
  for (std::size_t parent = 0; parent < frames.size(); ++parent) {
    std::sort(children.nodes.begin() + static_cast<std::ptrdiff_t>(children.first[parent]),
              children.nodes.begin() + static_cast<std::ptrdiff_t>(children.first[parent + 1]),
              [&](NodeId a, NodeId b) { return before(frames[a], frames[b]); });
  }
  return children;
}

/// A table of the same modules in the order of their keys.
ModuleTable sorted_modules(const ModuleTable& modules, std::span<const ModuleId> positions) {
  std::vector<ModuleId> at(positions.size());
  for (ModuleId id = 0; id < positions.size(); ++id) at[positions[id]] = id;
  ModuleTable sorted;
  for (const ModuleId id : at) sorted.add(modules[id]);
  return sorted;
}

}  // namespace

std::vector<NodeId> unite(SharedTree& into, const SharedTree& from) {
  const std::vector<ModuleId> modules = into.modules.unite(from.modules.keys());
  return into.tree.unite(from.tree.nodes(), modules);
}

std::vector<NodeId> locate(const SharedTree& in, const SharedTree& from) {
  // A module that `in` lacks gets an id that no frame of it has, so that none of its contexts is found.
  std::vector<ModuleId> modules;
  modules.reserve(from.modules.size());
  for (const ModuleKey& key : from.modules.keys()) {
    modules.push_back(in.modules.find(key).value_or(static_cast<ModuleId>(in.modules.size())));
  }
  return in.tree.locate(from.tree.nodes(), modules);
}

Canonical canonical(const SharedTree& shared) {
  const std::span<const Node> nodes = shared.tree.nodes();
  std::vector<ModuleId> positions = shared.modules.canonical_positions();
  std::vector<FrameKey> frames;
  std::vector<NodeId> parents;
  frames.reserve(nodes.size());
  parents.reserve(nodes.size());
  for (const Node& node : nodes) {
    frames.push_back(node.frame);
    parents.push_back(node.parent);
    if (node.frame.module != kNoModule) frames.back().module = positions[node.frame.module];
  }
  const Children children = sorted_children(parents, frames);

  Canonical result{
      {sorted_modules(shared.modules, positions), Tree()}, std::vector<NodeId>(nodes.size()), {}};
  result.module = std::move(positions);
  result.shared.tree.reserve(nodes.size());
  std::vector<NodeId> pending;  // an explicit stack: paths may be deeper than the machine's
  const auto push_children = [&](NodeId parent) {
    for (std::size_t i = children.first[parent + 1]; i > children.first[parent]; --i) {
      pending.push_back(children.nodes[i - 1]);
    }
  };
  push_children(0);
  while (!pending.empty()) {
    const NodeId old = pending.back();
    pending.pop_back();
    result.node[old] = result.shared.tree.child(result.node[parents[old]], frames[old]);
    push_children(old);
  }
  return result;
}

}  // namespace culprit::cct
