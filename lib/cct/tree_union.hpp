#pragma once

#include "cct/canonical.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::cct {

/// Unites the trees of many threads. Threads that ran the same code have mostly the same tree, so what
/// followed a node in the tree before is tried first, and what else followed it last: alike trees, equal or
/// not, cost one comparison per node, and hardly any look-up where they part. (Recognising equal subtrees by
/// hashes of them would cost a hash per node instead.)
class TreeUnion {
 public:
  /// The modules of `keys` (e.g. of one measurement) as ids of the union; pass the result to unite.
  std::vector<ModuleId> add_modules(std::span<const ModuleKey> keys) { return shared_.modules.unite(keys); }

  /// Adds one tree; see Tree::unite. The result is valid until the next call.
  std::span<const NodeId> unite(std::span<const Node> nodes, std::span<const ModuleId> modules);
  /// Adds another union, e.g. another rank's. Returns, per node of `from`, its node here.
  std::vector<NodeId> unite(const SharedTree& from) { return cct::unite(shared_, from); }

  [[nodiscard]] const SharedTree& shared() const { return shared_; }
  [[nodiscard]] const Tree& tree() const { return shared_.tree; }
  [[nodiscard]] const ModuleTable& modules() const { return shared_.modules; }

 private:
  /// What followed a node in the last tree that holds it, and what else did before; 0: nothing.
  struct Followers {
    NodeId last = 0, earlier = 0;
  };

  SharedTree shared_;
  std::vector<Followers> next_;  ///< per node of the union
  std::vector<NodeId> image_;    ///< of the last tree
};

}  // namespace culprit::cct
