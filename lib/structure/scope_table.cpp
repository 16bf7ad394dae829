#include "structure/scope_table.hpp"

namespace culprit::structure {

std::uint32_t ScopeTable::add(std::uint32_t procedure, const Scope& scope) {
  const bool by_address = scope.kind == Scope::Kind::loop && scope.line == 0;
  const Key key(procedure, scope.parent, scope.kind, scope.name, scope.file, scope.line, scope.call_file,
                scope.call_line, by_address ? scope.address : 0);
  const auto [entry, added] = known_.try_emplace(key, static_cast<std::uint32_t>(scopes_.size()));
  if (added) scopes_.push_back(scope);
  return entry->second;
}

}  // namespace culprit::structure
