#pragma once

#include "structure/structure.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace culprit::structure {

/// The structure around the addresses of all parts of one module, whose requests asked for consecutive runs
/// of its addresses, in this order. Procedures and scopes that parts share become one.
ModuleStructure combine(std::vector<ModuleStructure> parts);

/// Lists the files that something in `structure` refers to, in byte order: independent of the order in which
/// they were read. References were indices into `paths`, which are unique.
void keep_used_files(ModuleStructure& structure, std::span<const std::string> paths);

/// Collects the scopes of one module as points need them. Siblings that mean the same to the user are one
/// scope: inlined instances of the same procedure from the same call site (a compiler duplicated the code),
/// and loops of the same source line (vectorised body, remainder); loops without a line are distinguished by
/// their header's address.
class ScopeTable {
 public:
  explicit ScopeTable(std::vector<Scope>& scopes) : scopes_(scopes) {}
  /// The index of `scope` (its parent set, kNone for none) in `procedure`.
  std::uint32_t add(std::uint32_t procedure, const Scope& scope);

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, Scope::Kind, std::string, std::uint32_t, std::uint32_t,
                         std::uint32_t, std::uint32_t, std::uint64_t>;
  std::vector<Scope>& scopes_;
  std::map<Key, std::uint32_t> known_;
};

}  // namespace culprit::structure
