// The union of many threads' trees (docs/algorithms.md 1). Threads that ran the same code have mostly the
// same tree in the same order, so for each node the two that followed the last one before are tried first;
// only then the hash table. Cost: a comparison per node, and a look-up where trees part: 6 of 1716 nodes of a
// file.
#include "cct/tree_union.hpp"

#include <stdexcept>

namespace culprit::cct {

std::span<const NodeId> TreeUnion::unite(std::span<const Node> nodes, std::span<const ModuleId> modules) {
  if (nodes.empty() || nodes[0].parent != kNoNode || nodes[0].frame.kind != FrameKind::root) {
    throw std::invalid_argument("calling context tree: node 0 is not the super-root");
  }
  image_.resize(nodes.size());
  image_[0] = 0;
  Tree& tree = shared_.tree;
  next_.resize(tree.size());
  // Field by field, in registers: nodes that are put together first would wait for their own parts.
  const Node* known = tree.nodes().data();
  Followers* next = next_.data();
  NodeId* const image = image_.data();
  NodeId before = 0;
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (node.parent >= i) throw std::invalid_argument("calling context tree: a node precedes its parent");
    const NodeId parent = image[node.parent];
    ModuleId module = node.frame.module;
    if (module < modules.size()) {
      module = modules[module];
    } else if (module != kNoModule) {
      throw std::invalid_argument("calling context tree: no such load module");
    }
    const auto is_it = [&](NodeId guess) {
      const Node& there = known[guess];
      return there.frame.offset == node.frame.offset && there.frame.module == module &&
             there.frame.kind == node.frame.kind && there.parent == parent;
    };
    NodeId at = next[before].last;
    if (!is_it(at)) {
      at = next[before].earlier;
      if (!is_it(at)) {
        at = tree.child(parent, {.offset = node.frame.offset, .module = module, .kind = node.frame.kind});
        next_.resize(tree.size());
        known = tree.nodes().data();
        next = next_.data();
      }
      next[before] = {.last = at, .earlier = next[before].last};
    }
    image[i] = before = at;
  }
  return image_;
}

}  // namespace culprit::cct
