#include "example_tree.hpp"

#include <algorithm>
#include <set>

namespace culprit::database {

ExampleTree::ExampleTree() {
  flat_.emplace_back();
  scopes_.push_back({});
  open_.push_back(0);
}

ContextId ExampleTree::open(ContextKind kind, const std::string& name, const std::string& file,
                            std::uint32_t line) {
  const auto id = static_cast<ContextId>(scopes_.size());
  const Scope& parent = scopes_[open_.back()];
  Scope scope{.parent = open_.back(),
              .name = name,
              .file = file,
              .module = parent.module,
              .line = line,
              .kind = kind};
  if ((parent.flags & kInWait) != 0) scope.flags = kInWait;
  scopes_.push_back(scope);
  open_.push_back(id);
  return id;
}

void ExampleTree::close() {
  scopes_[open_.back()].end = static_cast<ContextId>(scopes_.size());
  open_.pop_back();
}

void ExampleTree::call(std::uint32_t line, const std::string& procedure, const std::string& file,
                       std::uint32_t procedure_line, const std::string& module) {
  const ContextId caller = open_.back();
  std::string caller_file;
  for (ContextId x = caller; x != kNone && caller_file.empty(); x = scopes_[x].parent)
    caller_file = scopes_[x].file;
  open(ContextKind::call, "", caller_file, line);
  const ContextId id = open(ContextKind::procedure, procedure, file, procedure_line);
  if (!module.empty()) scopes_[id].module = module;
  scopes_[id].flat = flat_of(id);
}

void ExampleTree::close_call() {
  close();
  close();
}

void ExampleTree::wait(std::uint32_t line, const std::string& procedure, const std::string& module,
                       std::uint8_t wait_kind) {
  call(line, procedure, "", 0, module);
  Scope& frame = scopes_[open_.back()];
  frame.flags = kFrontier | kInWait;
  frame.wait_kind = wait_kind;
}

void ExampleTree::statement(const std::string& file, std::uint32_t line, SpentBy spent, bool moves) {
  const ContextId id = open(ContextKind::statement, "", file, line);
  if (moves) scopes_[id].flags |= kMoves;
  scopes_[id].flat = flat_of(id);
  leaves_.push_back({id, std::move(spent)});
  close();
}

std::size_t ExampleTree::flat_child(std::size_t parent, const FlatNode& node) {
  const std::string key = std::to_string(static_cast<int>(node.kind)) + '\0' + node.name + '\0' + node.file +
                          '\0' + std::to_string(node.line);
  const auto [found, added] = flat_[parent].children.try_emplace(key, flat_.size());
  const std::size_t child = found->second;
  if (added) flat_.push_back(node);
  return child;
}

/// The flat scope of a context, made where it is new: procedures below their file, others below their
/// parent's scope.
std::size_t ExampleTree::flat_of(ContextId context) {
  const Scope& scope = scopes_[context];
  std::size_t parent = 0;
  if (scope.kind == ContextKind::procedure) {
    parent = flat_child(0, {scope.module, "", scope.module, 0, ContextKind::module, {}});
    parent = flat_child(parent, {scope.file, scope.file, scope.module, 0, ContextKind::file, {}});
  } else {
    Scope& above = scopes_[scope.parent];
    if (above.flat == static_cast<std::size_t>(-1)) above.flat = flat_of(scope.parent);
    parent = scopes_[scope.parent].flat;
  }
  return flat_child(parent, {scope.name, scope.file, scope.module, scope.line, scope.kind, {}});
}

void ExampleTree::number_flat(std::size_t node, FlatId parent, Experiment& e,
                              std::vector<FlatId>& ids) const {
  const auto id = static_cast<FlatId>(e.flat.size());
  ids[node] = id;
  const auto intern = [&](const std::string& text) {
    return static_cast<StringId>(std::ranges::lower_bound(e.strings, text) - e.strings.begin());
  };
  const FlatNode& from = flat_[node];
  e.flat.push_back(
      {parent, 0, intern(from.name), intern(from.file), from.line, intern(from.module), from.kind});
  for (const auto& [key, child] : from.children) number_flat(child, id, e, ids);
  e.flat[id].end = static_cast<FlatId>(e.flat.size());
}

void ExampleTree::finish(Experiment& e) {
  while (!open_.empty()) close();
  std::set<std::string> texts{""};
  for (const Scope& scope : scopes_) texts.insert({scope.name, scope.file, scope.module});
  e.strings.assign(texts.begin(), texts.end());
  std::vector<FlatId> ids(flat_.size());
  number_flat(0, kNone, e, ids);
  const auto intern = [&](const std::string& text) {
    return static_cast<StringId>(std::ranges::lower_bound(e.strings, text) - e.strings.begin());
  };
  for (const Scope& s : scopes_) {
    const FlatId flat = s.flat == static_cast<std::size_t>(-1) ? kNone : ids[s.flat];
    e.contexts.push_back({s.parent, s.end, intern(s.name), intern(s.file), s.line, intern(s.module), flat,
                          s.kind, s.flags, s.wait_kind});
  }
}

}  // namespace culprit::database
