// Puts the structure of a module's parts together, which several threads or ranks of the analysis recovered
// (docs/algorithms.md 15, 16): procedures and scopes that are equal become one, files are numbered anew. The
// result does not depend on how the addresses were divided. Cost: look-ups in hash tables and maps, linear in
// points.
#include "structure/combine.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace culprit::structure {

namespace {

using ProcedureKey = std::tuple<std::uint64_t, std::uint64_t, std::string, std::string>;

class Combination {
 public:
  explicit Combination(const std::vector<ModuleStructure>& parts) : scopes_(out_.scopes) {
    std::set<std::string> files;
    for (const ModuleStructure& part : parts) files.insert(part.files.begin(), part.files.end());
    out_.files.assign(files.begin(), files.end());
  }

  void add(const ModuleStructure& part) {
    number_files(part);
    std::vector<std::uint32_t> procedures, scopes(part.scopes.size(), kNone);
    for (const Procedure& procedure : part.procedures) procedures.push_back(add(procedure));
    for (const Point& from : part.points) {
      Point point = from;
      point.file = file(from.file);
      if (from.procedure != kNone) point.procedure = procedures[from.procedure];
      point.scope = add(part, from.scope, point.procedure, scopes);
      if (from.callee != kNone) point.callee = callee(part.callees[from.callee]);
      out_.points.push_back(point);
    }
    for (const std::string& note : part.notes)
      if (std::ranges::find(out_.notes, note) == out_.notes.end()) out_.notes.push_back(note);
  }

  [[nodiscard]] ModuleStructure take() { return std::move(out_); }

 private:
  void number_files(const ModuleStructure& part) {
    files_.clear();
    for (const std::string& path : part.files)
      files_.push_back(
          static_cast<std::uint32_t>(std::ranges::lower_bound(out_.files, path) - out_.files.begin()));
  }

  [[nodiscard]] std::uint32_t file(std::uint32_t of_part) const {
    return of_part == kNone ? kNone : files_[of_part];
  }

  std::uint32_t add(const Procedure& from) {
    const auto next = static_cast<std::uint32_t>(out_.procedures.size());
    const auto [known, added] = procedures_.try_emplace({from.low, from.high, from.name, from.linkage}, next);
    if (!added) return known->second;
    out_.procedures.push_back(from);
    out_.procedures.back().file = file(from.file);
    return next;
  }

  std::uint32_t callee(const std::string& name) {
    const auto [known, added] = callees_.try_emplace(name, static_cast<std::uint32_t>(out_.callees.size()));
    if (added) out_.callees.push_back(name);
    return known->second;
  }

  /// The scope of a part and those around it, which stand before it there.
  std::uint32_t add(const ModuleStructure& part, std::uint32_t innermost, std::uint32_t procedure,
                    std::vector<std::uint32_t>& known) {
    std::vector<std::uint32_t> chain;
    for (std::uint32_t at = innermost; at != kNone && known[at] == kNone; at = part.scopes[at].parent)
      chain.push_back(at);
    for (; !chain.empty(); chain.pop_back()) {
      Scope scope = part.scopes[chain.back()];
      scope.parent = scope.parent == kNone ? kNone : known[scope.parent];
      scope.file = file(scope.file);
      scope.call_file = file(scope.call_file);
      known[chain.back()] = scopes_.add(procedure, scope);
    }
    return innermost == kNone ? kNone : known[innermost];
  }

  ModuleStructure out_;
  ScopeTable scopes_;
  std::vector<std::uint32_t> files_;  // of the part at hand: its files in out_
  std::map<ProcedureKey, std::uint32_t> procedures_;
  std::map<std::string, std::uint32_t> callees_;
};

}  // namespace

ModuleStructure combine(std::vector<ModuleStructure> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  Combination combination(parts);
  for (const ModuleStructure& part : parts) combination.add(part);
  return combination.take();
}

void keep_used_files(ModuleStructure& structure, std::span<const std::string> paths) {
  std::vector<std::uint32_t*> uses;
  for (Procedure& procedure : structure.procedures) uses.push_back(&procedure.file);
  for (Scope& scope : structure.scopes) uses.insert(uses.end(), {&scope.file, &scope.call_file});
  for (Point& point : structure.points) uses.push_back(&point.file);
  std::erase_if(uses, [](const std::uint32_t* use) { return *use == kNone; });
  std::vector<std::uint32_t> number(paths.size(), kNone), used;
  for (const std::uint32_t* use : uses) {
    if (std::exchange(number[*use], 0) == kNone) used.push_back(*use);
  }
  std::ranges::sort(used, {}, [&](std::uint32_t file) { return std::string_view(paths[file]); });
  for (const std::uint32_t file : used) {
    number[file] = static_cast<std::uint32_t>(structure.files.size());
    structure.files.push_back(paths[file]);
  }
  for (std::uint32_t* use : uses) *use = number[*use];
}

std::uint32_t ScopeTable::add(std::uint32_t procedure, const Scope& scope) {
  const bool by_address = scope.kind == Scope::Kind::loop && scope.line == 0;
  const Key key(procedure, scope.parent, scope.kind, scope.name, scope.file, scope.line, scope.call_file,
                scope.call_line, by_address ? scope.address : 0);
  const auto [entry, added] = known_.try_emplace(key, static_cast<std::uint32_t>(scopes_.size()));
  if (added) scopes_.push_back(scope);
  return entry->second;
}

}  // namespace culprit::structure
