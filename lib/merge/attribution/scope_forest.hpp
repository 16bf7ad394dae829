#pragma once

#include "database/database.hpp"

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace culprit::merge {

/// What a scope is called: siblings with equal labels are one scope, and siblings are ordered by their
/// labels.
struct Label {
  database::ContextKind kind = database::ContextKind::root;
  database::StringId name = 0, module = 0, file = 0;
  std::uint32_t line = 0;
  std::uint64_t address = 0;  ///< distinguishes loops without a line; else 0

  friend auto operator<=>(const Label&, const Label&) = default;  // NOLINT(modernize-use-nullptr)
};

/// A tree of labelled scopes that grows by find-or-add and is then numbered in canonical pre-order. Scope 0
/// is the root.
class ScopeForest {
 public:
  using Id = std::uint32_t;

  explicit ScopeForest(const Label& root) : scopes_{{.parent = database::kNone, .label = root}} {}

  Id child(Id parent, const Label& label);
  [[nodiscard]] const Label& label(Id scope) const { return scopes_[scope].label; }
  [[nodiscard]] Id parent(Id scope) const { return scopes_[scope].parent; }
  [[nodiscard]] std::size_t size() const { return scopes_.size(); }

  /// Renames every string of every label: id → final[id].
  void rename(std::span<const database::StringId> final_ids);

  /// The canonical pre-order: scope at each position, position of each scope, and each position's end (one
  /// past its last descendant).
  struct Order {
    std::vector<Id> scope, position, end;
  };
  /// Scopes with removed[scope] != 0 (whose children must be, too) are left out; their position is that of
  /// their nearest ancestor that is not. An empty `removed` leaves out none.
  [[nodiscard]] Order order(std::span<const std::uint8_t> removed = {}) const;

 private:
  struct Scope {
    Id parent;
    Label label;
  };
  struct Key {
    Id parent;
    Label label;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  std::vector<Scope> scopes_;
  std::unordered_map<Key, Id, KeyHash> ids_;
};

}  // namespace culprit::merge
