#include "cct/tree_union.hpp"

#include <stdexcept>
#include <utility>

#include <xxhash.h>

namespace culprit::cct {
namespace {

/// Mappings are remembered up to this many nodes in all (256 MiB); then all are forgotten, which costs time
/// only.
constexpr std::size_t kMaxRememberedNodes = std::size_t{1} << 26;

}  // namespace

TreeUnion::Fingerprint TreeUnion::fingerprint(std::span<const Node> nodes,
                                              std::span<const ModuleId> modules) {
  packed_.resize(3 * nodes.size());
  std::size_t at = 0;
  for (const Node& node : nodes) {
    ModuleId module = node.frame.module;
    if (module != kNoModule) {
      if (module >= modules.size()) throw std::invalid_argument("calling context tree: no such load module");
      module = modules[module];
    }
    packed_[at] = node.frame.offset;
    packed_[at + 1] = (std::uint64_t{node.parent} << 32) | module;
    packed_[at + 2] = static_cast<std::uint64_t>(node.frame.kind);
    at += 3;
  }
  const XXH128_hash_t hash = XXH3_128bits(packed_.data(), packed_.size() * sizeof packed_[0]);
  return {hash.low64, hash.high64};
}

TreeUnion::Mapping TreeUnion::unite(std::span<const Node> nodes, std::span<const ModuleId> modules) {
  const Fingerprint print = fingerprint(nodes, modules);
  if (const auto known = known_.find(print); known != known_.end()) {
    ++recognised_;
    return known->second;
  }
  auto mapping = std::make_shared<const std::vector<NodeId>>(shared_.tree.unite(nodes, modules));
  remember(print, mapping);
  return mapping;
}

void TreeUnion::remember(const Fingerprint& fingerprint, const Mapping& mapping) {
  if (remembered_nodes_ + mapping->size() > kMaxRememberedNodes) {
    known_.clear();
    remembered_nodes_ = 0;
  }
  remembered_nodes_ += mapping->size();
  known_.emplace(fingerprint, mapping);
}

}  // namespace culprit::cct
