#include "cct/archive.hpp"

#include <cstdint>

namespace culprit::cct {
namespace {

constexpr std::uint64_t kTag = 0x31657274'74636363U;  // tells a tree from another message

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
