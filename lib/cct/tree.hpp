#pragma once

#include "cct/frame.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace culprit::cct {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xffffffff;

/// The identity of a load module across processes and hosts: the build-id where there is one (path then only
/// for show), else path, size and modification time. Ordered; the order is the canonical module order.
struct ModuleKey {
  std::string path;
  std::string build_id;  ///< lower-case hex, empty where the module has none
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;

  friend auto operator<=>(const ModuleKey&, const ModuleKey&) = default;  // NOLINT(modernize-use-nullptr)
};

/// A node of a tree in memory. Node 0 is the super-root (FrameKind::root, its own parent is kNoNode).
struct Node {
  FrameKey frame;
  NodeId parent = kNoNode;

  friend constexpr bool operator==(const Node&, const Node&) = default;
};

/// A calling context tree: node 0 is the super-root; parents always have smaller ids than their children; no
/// two children of a node have the same key. Find-or-add is one probe of a flat hash table.
class Tree {
 public:
  Tree();  ///< only the super-root

  /// Finds or adds the child of `parent` with key `frame`. Throws std::length_error beyond 2^31 nodes.
  NodeId child(NodeId parent, const FrameKey& frame);

  /// Union (docs/algorithms.md 1): adds every context of `nodes` (a tree in the order of this class: node 0
  /// the super-root, parents before children); modules[m] is this tree's module for `nodes`' module m
  /// (kNoModule stands for itself; ModuleTable::unite makes the map). Returns, per entry of `nodes`, its node
  /// in this tree. Throws std::invalid_argument where `nodes` is no such tree or a module is out of range.
  std::vector<NodeId> unite(std::span<const Node> nodes, std::span<const std::uint32_t> modules);

  [[nodiscard]] const Node& operator[](NodeId id) const { return nodes_[id]; }
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  /// Makes room for this many nodes in all.
  void reserve(std::size_t nodes);

 private:
  /// One slot of the open-addressing table: a node, and 32 bits of its hash that spare most looks at the
  /// node.
  struct Slot {
    NodeId node = kNoNode;
    std::uint32_t tag = 0;
  };

  [[nodiscard]] std::size_t probe(NodeId parent, const FrameKey& frame, std::uint64_t hash) const;
  void rebuild(std::size_t slots);

  std::vector<Node> nodes_;
  std::vector<Slot> slots_;  ///< size a power of two, at most half full
};

}  // namespace culprit::cct
