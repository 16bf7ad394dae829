// The canonical form of a tree (docs/algorithms.md 1): modules in the order of their keys, children sorted by
// (module, offset, kind), nodes numbered in pre-order. It depends on the set of contexts only. Children are
// grouped by counting, sorted per parent, and walked with an explicit stack, since paths may be deeper than
// the machine's. Cost: O(n log n) in the children of one node.
#include "cct/canonical.hpp"

#include <algorithm>
#include <cstdint>
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

namespace {

constexpr std::uint64_t kTag = 0x31657274'74636363U;  // distinguishes a tree from another message

void write_modules(MessageWriter& message, const ModuleTable& modules) {
  message.value(std::uint64_t{modules.size()});
  for (const ModuleKey& key : modules.keys()) {
    message.text(key.path);
    message.text(key.build_id);
    message.value(key.size);
    message.value(key.mtime_ns);
  }
}

ModuleTable read_modules(MessageReader& message) {
  ModuleTable modules;
  const auto count = message.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    ModuleKey key;
    key.path = message.text();
    key.build_id = message.text();
    key.size = message.value<std::uint64_t>();
    key.mtime_ns = message.value<std::int64_t>();
    if (modules.add(key) != i) throw ArchiveError("message: a load module occurs twice");
  }
  return modules;
}

/// The nodes column by column (their struct has padding), without node 0.
struct Columns {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> modules, parents;
  std::vector<FrameKind> kinds;
};

Tree build(const Columns& columns, const ModuleTable& modules) {
  const std::size_t count = columns.offsets.size();
  if (columns.modules.size() != count || columns.parents.size() != count || columns.kinds.size() != count) {
    throw ArchiveError("message: the columns of a tree differ in length");
  }
  Tree tree;
  tree.reserve(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const FrameKey frame{columns.offsets[i], columns.modules[i], columns.kinds[i]};
    if (static_cast<int>(frame.kind) >= kFrameKinds) throw ArchiveError("message: no such kind of frame");
    if (frame.module != kNoModule && frame.module >= modules.size())
      throw ArchiveError("message: no such load module");
    if (columns.parents[i] > i) throw ArchiveError("message: a node precedes its parent");
    if (tree.child(columns.parents[i], frame) != i + 1) throw ArchiveError("message: a context occurs twice");
  }
  return tree;
}

}  // namespace

void write(MessageWriter& message, const SharedTree& shared) {
  message.value(kTag);
  write_modules(message, shared.modules);
  Columns columns;
  const std::span<const Node> nodes = shared.tree.nodes().subspan(1);
  for (const Node& node : nodes) columns.offsets.push_back(node.frame.offset);
  for (const Node& node : nodes) columns.modules.push_back(node.frame.module);
  for (const Node& node : nodes) columns.parents.push_back(node.parent);
  for (const Node& node : nodes) columns.kinds.push_back(node.frame.kind);
  message.values(columns.offsets);
  message.values(columns.modules);
  message.values(columns.parents);
  message.values(columns.kinds);
}

SharedTree read(MessageReader& message) {
  if (message.value<std::uint64_t>() != kTag) throw ArchiveError("message: not a calling context tree");
  SharedTree shared;
  shared.modules = read_modules(message);
  Columns columns;
  columns.offsets = message.values<std::uint64_t>();
  columns.modules = message.values<std::uint32_t>();
  columns.parents = message.values<std::uint32_t>();
  columns.kinds = message.values<FrameKind>();
  shared.tree = build(columns, shared.modules);
  return shared;
}

}  // namespace culprit::cct
