#pragma once

#include "cct/canonical.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <rapidcheck.h>

// Random trees for the property tests, and what is compared of them.
namespace culprit::cct {

inline ModuleKey module_key(unsigned number) {
  ModuleKey key;
  key.path = "/lib/m" + std::to_string(number % 7);
  if (number % 3 != 0) key.build_id = "id" + std::to_string(number % 5);
  key.size = number % 2;
  return key;
}

/// A tree of up to 60 nodes over few frames, so that trees overlap, grown in random order.
inline SharedTree random_tree() {
  SharedTree shared;
  const auto modules = *rc::gen::inRange<unsigned>(1, 6);
  for (unsigned m = 0; m < modules; ++m) shared.modules.add(module_key(*rc::gen::inRange<unsigned>(0, 30)));
  const auto nodes = *rc::gen::inRange<unsigned>(0, 60);
  for (unsigned n = 0; n < nodes; ++n) {
    const auto parent = *rc::gen::inRange<NodeId>(0, static_cast<NodeId>(shared.tree.size()));
    const auto module = *rc::gen::inRange<unsigned>(0, static_cast<unsigned>(shared.modules.size()) + 1);
    FrameKey frame;
    frame.module = module == shared.modules.size() ? kNoModule : module;
    frame.offset = *rc::gen::inRange<std::uint64_t>(0, 3);
    frame.kind = static_cast<FrameKind>(*rc::gen::inRange(4, kFrameKinds));
    shared.tree.child(parent, frame);
  }
  return shared;
}

/// A copy with modules and nodes added in another order; the same set of contexts.
inline SharedTree shuffled(const SharedTree& shared) {
  std::vector<ModuleKey> keys(shared.modules.keys().begin(), shared.modules.keys().end());
  std::reverse(keys.begin(), keys.end());
  SharedTree copy;
  copy.modules.unite(keys);
  std::vector<ModuleId> modules;
  for (const ModuleKey& key : shared.modules.keys()) modules.push_back(*copy.modules.find(key));
  std::vector<NodeId> image(shared.tree.size(), kNoNode);
  image[0] = 0;
  const auto add = [&](auto&& self, NodeId id) -> NodeId {
    if (image[id] != kNoNode) return image[id];
    FrameKey frame = shared.tree[id].frame;
    if (frame.module != kNoModule) frame.module = modules[frame.module];
    return image[id] = copy.tree.child(self(self, shared.tree[id].parent), frame);
  };
  std::vector<NodeId> order(shared.tree.size());
  for (NodeId id = 0; id < order.size(); ++id) order[id] = id;
  while (!order.empty()) {
    const auto at = *rc::gen::inRange<std::size_t>(0, order.size());
    add(add, order[at]);
    order[at] = order.back();
    order.pop_back();
  }
  return copy;
}

/// Everything that the canonical form of a tree holds.
inline auto content(const SharedTree& shared) {
  const Canonical form = canonical(shared);
  return std::pair(
      std::vector<ModuleKey>(form.shared.modules.keys().begin(), form.shared.modules.keys().end()),
      std::vector<Node>(form.shared.tree.nodes().begin(), form.shared.tree.nodes().end()));
}

inline SharedTree united(SharedTree a, const SharedTree& b) {
  unite(a, b);
  return a;
}

/// The path of a node from the root, by module keys.
inline std::vector<std::tuple<ModuleKey, std::uint64_t, FrameKind>> path_of(const SharedTree& shared,
                                                                            NodeId id) {
  std::vector<std::tuple<ModuleKey, std::uint64_t, FrameKind>> path;
  for (; id != 0; id = shared.tree[id].parent) {
    const FrameKey& frame = shared.tree[id].frame;
    path.emplace_back(frame.module == kNoModule ? ModuleKey{} : shared.modules[frame.module], frame.offset,
                      frame.kind);
  }
  return path;
}

}  // namespace culprit::cct
