#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cct/frame.hpp"

namespace culprit::cct {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xffffffff;

/// The identity of a load module across processes and hosts: the build-id where there is one (path then only for
/// show), else path, size and modification time. Ordered; the order is the canonical module order.
struct ModuleKey {
  std::string path;
  std::string build_id;  ///< lower-case hex, empty where the module has none
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;

  friend auto operator<=>(const ModuleKey&, const ModuleKey&) = default;
};

/// A node of a tree in memory. Node 0 is the super-root (FrameKind::root, its own parent is kNoNode).
struct Node {
  FrameKey frame;
  NodeId parent = kNoNode;
};

}  // namespace culprit::cct
