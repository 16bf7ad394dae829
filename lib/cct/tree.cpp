// A calling context tree (docs/algorithms.md 1): nodes in the order in which they were added, parents first,
// and a flat hash table of (parent, frame) with linear probing, at most half full, 32 bits of the hash in
// each slot. Find-or-add is one probe. The union with another tree walks its nodes in order, translating
// modules and parents.
#include "cct/tree.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace culprit::cct {
namespace {

constexpr std::size_t kInitialSlots = 64;
constexpr std::size_t kMaxNodes = std::size_t{1} << 31;

/// Mixes (parent, key) so that its low bits choose a slot and its high bits serve as a tag.
std::uint64_t hash_of(NodeId parent, const FrameKey& frame) {
  const std::uint64_t place = (std::uint64_t{parent} << 32) | frame.module;
  std::uint64_t hash =
      (frame.offset ^ (std::uint64_t{static_cast<std::uint8_t>(frame.kind)} << 56)) * 0x9e3779b97f4a7c15U;
  hash ^= hash >> 32;
  hash = (hash + place) * 0xd6e8feb86659fd93U;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93U;
  return hash ^ (hash >> 29);
}

std::uint32_t tag_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace

Tree::Tree() : nodes_{Node{FrameKey{}, kNoNode}}, slots_(kInitialSlots) {}

std::size_t Tree::probe(NodeId parent, const FrameKey& frame, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  const std::uint32_t tag = tag_of(hash);
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.node == kNoNode) return at;
    if (slot.tag == tag && nodes_[slot.node].parent == parent && nodes_[slot.node].frame == frame) return at;
  }
}

NodeId Tree::child(NodeId parent, const FrameKey& frame) {
  const std::uint64_t hash = hash_of(parent, frame);
  const std::size_t at = probe(parent, frame, hash);
  if (slots_[at].node != kNoNode) return slots_[at].node;
  if (nodes_.size() >= kMaxNodes) throw std::length_error("calling context tree: more than 2^31 contexts");
  const auto added = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({frame, parent});
  slots_[at] = {added, tag_of(hash)};
  if (2 * nodes_.size() > slots_.size()) rebuild(2 * slots_.size());
  return added;
}

void Tree::rebuild(std::size_t slots) {
  slots_.assign(slots, Slot{});
  const std::size_t mask = slots - 1;
  for (NodeId id = 1; id < nodes_.size(); ++id) {
    const std::uint64_t hash = hash_of(nodes_[id].parent, nodes_[id].frame);
    std::size_t at = hash & mask;
    while (slots_[at].node != kNoNode) at = (at + 1) & mask;
    slots_[at] = {id, tag_of(hash)};
  }
}

void Tree::reserve(std::size_t nodes) {
  nodes = std::min(nodes, kMaxNodes);
  nodes_.reserve(nodes);
  if (2 * nodes > slots_.size()) rebuild(std::bit_ceil(2 * nodes));
}

std::vector<NodeId> Tree::unite(std::span<const Node> nodes, std::span<const std::uint32_t> modules) {
  if (nodes.empty() || nodes[0].parent != kNoNode || nodes[0].frame.kind != FrameKind::root) {
    throw std::invalid_argument("calling context tree: node 0 is not the super-root");
  }
  std::vector<NodeId> image(nodes.size());
  image[0] = 0;
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    FrameKey frame = nodes[i].frame;
    if (nodes[i].parent >= i) throw std::invalid_argument("calling context tree: a node precedes its parent");
    if (frame.module != kNoModule) {
      if (frame.module >= modules.size())
        throw std::invalid_argument("calling context tree: no such load module");
      frame.module = modules[frame.module];
    }
    image[i] = child(image[nodes[i].parent], frame);
  }
  return image;
}

}  // namespace culprit::cct
