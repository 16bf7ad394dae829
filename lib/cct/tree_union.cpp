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
  NodeId before = 0;
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i].parent >= i) throw std::invalid_argument("calling context tree: a node precedes its parent");
    Node wanted{.frame = nodes[i].frame, .parent = image_[nodes[i].parent]};
    if (wanted.frame.module != kNoModule) {
      if (wanted.frame.module >= modules.size())
        throw std::invalid_argument("calling context tree: no such load module");
      wanted.frame.module = modules[wanted.frame.module];
    }
    NodeId at = before < next_.size() ? next_[before] : 0;
    if (tree[at] != wanted) {
      at = tree.child(wanted.parent, wanted.frame);
      if (next_.size() < tree.size()) next_.resize(tree.size());
      next_[before] = at;
      ++looked_up_;
    }
    image_[i] = before = at;
  }
  return image_;
}

}  // namespace culprit::cct
