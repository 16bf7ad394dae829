#pragma once

#include "structure/structure.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

// What every structure keeps, whatever it was recovered from. Shared by the unit tests and the fuzzers.
namespace validity {

/// Why the structure is not complete for `points` addresses, or has an index that leads nowhere; empty where
/// it is whole.
inline std::string invalid(const culprit::structure::ModuleStructure& module, std::size_t points) {
  using culprit::structure::kNone;
  const auto leads = [](std::uint32_t index, std::size_t to) { return index == kNone || index < to; };
  const auto file = [&](std::uint32_t index) { return leads(index, module.files.size()); };
  if (module.points.size() != points) return "points";
  for (const auto& point : module.points) {
    if (point.procedure >= module.procedures.size()) return "a point's procedure";
    if (!leads(point.scope, module.scopes.size())) return "a point's scope";
    if (!file(point.file)) return "a point's file";
    if (!leads(point.callee, module.callees.size())) return "a point's callee";
  }
  for (std::size_t i = 0; i < module.scopes.size(); ++i) {
    if (!leads(module.scopes[i].parent, i)) return "a scope before its parent";
    if (!file(module.scopes[i].file) || !file(module.scopes[i].call_file)) return "a scope's file";
  }
  const auto whole = [&](const auto& procedure) { return !procedure.name.empty() && file(procedure.file); };
  if (!std::all_of(module.procedures.begin(), module.procedures.end(), whole)) return "a procedure";
  return {};
}

}  // namespace validity
