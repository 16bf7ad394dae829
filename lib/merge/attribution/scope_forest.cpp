// Overlays static structure on the calling context tree (docs/algorithms.md 1, 15): siblings with equal
// labels become one scope, and scopes are numbered in pre-order, siblings by their labels. Cost: a hash
// look-up per frame.
#include "merge/attribution/scope_forest.hpp"

#include <algorithm>

namespace culprit::merge {

std::size_t ScopeForest::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = 0;
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  };
  mix((std::uint64_t{key.parent} << 8) | static_cast<std::uint8_t>(key.label.kind));
  mix((std::uint64_t{key.label.name} << 32) | key.label.module);
  mix((std::uint64_t{key.label.file} << 32) | key.label.line);
  mix(key.label.address);
  return hash;
}

ScopeForest::Id ScopeForest::child(Id parent, const Label& label) {
  const auto [entry, fresh] = ids_.try_emplace({parent, label}, static_cast<Id>(scopes_.size()));
  if (fresh) scopes_.push_back({.parent = parent, .label = label});
  return entry->second;
}

void ScopeForest::rename(std::span<const database::StringId> final_ids) {
  for (Scope& scope : scopes_) {
    scope.label.name = final_ids[scope.label.name];
    scope.label.module = final_ids[scope.label.module];
    scope.label.file = final_ids[scope.label.file];
  }
  ids_.clear();
}

ScopeForest::Order ScopeForest::order(std::span<const std::uint8_t> removed) const {
  const std::size_t n = scopes_.size();
  const auto kept = [removed](Id scope) { return removed.empty() || removed[scope] == 0; };
  std::vector<std::vector<Id>> children(n);
  for (Id scope = 1; scope < n; ++scope) {
    if (kept(scope)) children[scopes_[scope].parent].push_back(scope);
  }
  for (std::vector<Id>& siblings : children) {
    std::ranges::sort(siblings, [this](Id a, Id b) { return scopes_[a].label < scopes_[b].label; });
  }
  Order order{.scope = {}, .position = std::vector<Id>(n), .end = {}};
  order.scope.reserve(n);
  std::vector<Id> pending{0};
  while (!pending.empty()) {
    const Id scope = pending.back();
    pending.pop_back();
    order.position[scope] = static_cast<Id>(order.scope.size());
    order.scope.push_back(scope);
    pending.insert(pending.end(), children[scope].rbegin(), children[scope].rend());
  }
  for (Id scope = 1; scope < n; ++scope) {
    if (!kept(scope)) order.position[scope] = order.position[scopes_[scope].parent];
  }
  order.end.resize(order.scope.size());
  for (std::size_t at = order.scope.size(); at-- > 0;) {
    order.end[at] = std::max(order.end[at], static_cast<Id>(at + 1));
    const Id parent = scopes_[order.scope[at]].parent;
    if (parent == database::kNone) continue;
    Id& end = order.end[order.position[parent]];
    end = std::max(end, order.end[at]);
  }
  return order;
}

}  // namespace culprit::merge
