#pragma once

#include "cct/tree.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace culprit::cct {

/// A dense number of a load module in one ModuleTable.
using ModuleId = std::uint32_t;

/// Load modules by dense ids in order of first sight. Two keys name the same module when their build-ids are
/// equal and not empty, else when all of path, size and time are equal. Of several keys of one module (the
/// same library under two paths) the smallest is kept, so that the table's content does not depend on the
/// order of insertion.
class ModuleTable {
 public:
  /// Finds or adds; ids stay valid for the table's life.
  ModuleId add(const ModuleKey& key);

  /// The id of the module that `key` names, if it is known.
  [[nodiscard]] std::optional<ModuleId> find(const ModuleKey& key) const;

  /// Adds all of `keys`; entry i of the result is the id of keys[i]. The map that Tree::unite takes.
  std::vector<ModuleId> unite(std::span<const ModuleKey> keys);

  [[nodiscard]] const ModuleKey& operator[](ModuleId id) const { return keys_[id]; }
  [[nodiscard]] std::span<const ModuleKey> keys() const { return keys_; }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

  /// Entry `id` is the position of module `id` in the order by ModuleKey (docs/algorithms.md 1).
  [[nodiscard]] std::vector<ModuleId> canonical_positions() const;

 private:
  std::vector<ModuleKey> keys_;
  std::unordered_map<std::string, ModuleId> ids_;  ///< by identity: build-id, or path, size and time
};

}  // namespace culprit::cct
