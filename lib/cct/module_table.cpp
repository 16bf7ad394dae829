// Numbers load modules in the order of first sight. Equal build-ids name one module, else equal path, size
// and time (docs/algorithms.md 1). One look-up per module and file.
#include "cct/module_table.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <tuple>

namespace culprit::cct {
namespace {

/// What makes two keys the same module. The first character keeps the two kinds of identity apart.
std::string identity(const ModuleKey& key) {
  if (!key.build_id.empty()) return 'b' + key.build_id;
  return 'p' + std::to_string(key.size) + ' ' + std::to_string(key.mtime_ns) + ' ' + key.path;
}

}  // namespace

ModuleId ModuleTable::add(const ModuleKey& key) {
  const auto [entry, added] = ids_.try_emplace(identity(key), static_cast<ModuleId>(keys_.size()));
  if (added) {
    if (keys_.size() >= kNoModule) throw std::length_error("more load modules than ids");
    keys_.push_back(key);
  } else if (ModuleKey& kept = keys_[entry->second]; key < kept) {
    kept = key;
  }
  return entry->second;
}

std::optional<ModuleId> ModuleTable::find(const ModuleKey& key) const {
  const auto entry = ids_.find(identity(key));
  if (entry == ids_.end()) return std::nullopt;
  return entry->second;
}

std::vector<ModuleId> ModuleTable::unite(std::span<const ModuleKey> keys) {
  std::vector<ModuleId> ids;
  ids.reserve(keys.size());
  for (const ModuleKey& key : keys) ids.push_back(add(key));
  return ids;
}

std::vector<ModuleId> ModuleTable::canonical_positions() const {
  std::vector<ModuleId> sorted(keys_.size());
  std::iota(sorted.begin(), sorted.end(), ModuleId{0});
  std::sort(sorted.begin(), sorted.end(), [&](ModuleId a, ModuleId b) { return keys_[a] < keys_[b]; });
  std::vector<ModuleId> positions(keys_.size());
  for (ModuleId position = 0; position < sorted.size(); ++position) positions[sorted[position]] = position;
  return positions;
}

}  // namespace culprit::cct
