// The calling context tree without call sites and lines, by which two runs compare (docs/algorithms.md 17).
// One pass.
#include "views/folded_tree.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace culprit::views {
namespace {

using database::Context;
using database::ContextId;
using database::ContextKind;

bool is_scope(ContextKind kind) {
  return kind != ContextKind::call && kind != ContextKind::statement;
}

/// What makes two scopes below the same one the same.
using ScopeIdentity = std::tuple<std::uint32_t, ContextKind, database::StringId, database::StringId,
                                 database::StringId, std::uint32_t>;

}  // namespace

FoldedTree::FoldedTree(const Figures& figures, Column column) : figures_(figures) {
  const database::Contents& experiment = figures.experiment();
  column.divisor = 1;
  Column inclusive = column;
  inclusive.name.inclusive = true;
  std::map<ScopeIdentity, std::uint32_t> known;
  scope_of_.assign(experiment.contexts.size(), database::kNone);
  for (ContextId id = 0; id < experiment.contexts.size(); ++id) {
    const Context& context = experiment.contexts[id];
    const std::uint32_t parent =
        context.parent == database::kNone ? database::kNone : scope_of_[context.parent];
    if (!is_scope(context.kind)) {
      scope_of_[id] = parent;
      continue;
    }
    const ScopeIdentity identity{parent,       context.kind,   context.name,
                                 context.file, context.module, context.line};
    const auto [found, added] = known.try_emplace(identity, static_cast<std::uint32_t>(scopes_.size()));
    const std::uint32_t scope = scope_of_[id] = found->second;
    if (added) {
      scopes_.push_back({frame_of(experiment, context), context.flags, parent, id, {}});
      if (parent != database::kNone) scopes_[parent].children.push_back(scope);
    }
    const double value = figures.at_context(inclusive, id);
    scopes_[scope].own += value;
    scopes_[scope].inclusive += value;
    if (!column.name.inclusive) scopes_[scope].exclusive += figures.at_context(column, id);
    if (parent != database::kNone) scopes_[parent].own -= value;
  }
}

std::vector<Frame> FoldedTree::path(std::uint32_t scope) const {
  std::vector<Frame> frames;
  for (std::uint32_t at = scope; at != database::kNone; at = scopes_[at].parent)
    frames.push_back(scopes_[at].frame);
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace culprit::views
