#include "views/blame_index.hpp"

#include <algorithm>

namespace culprit::views {
namespace {

using database::ContextId;
using database::ContextKind;
using database::FlatId;
using database::kNone;

/// The nearest context at or above `context` that is an instance of a flat scope; kNone above all procedures.
ContextId nearest_scope(const database::Experiment& experiment, ContextId context) {
  while (context != kNone && experiment.contexts[context].flat == kNone)
    context = experiment.contexts[context].parent;
  return context;
}

bool counts_whole_extent(ContextKind kind) {
  return kind == ContextKind::procedure || kind == ContextKind::file || kind == ContextKind::module ||
         kind == ContextKind::root;
}

}  // namespace

BlameIndex::BlameIndex(const database::Experiment& experiment) : experiment_(experiment) {
  for (const std::vector<database::BlameRow>& rows : experiment.blame) {
    std::vector<Blame>& before = before_.emplace_back();
    before.reserve(rows.size() + 1);
    Blame sum;
    before.push_back(sum);
    for (const database::BlameRow& row : rows) {
      sum.add({row.sum, row.min, row.max});
      before.push_back(sum);
    }
  }
}

Blame BlameIndex::between(std::uint32_t role, ContextId first, ContextId end) const {
  if (role >= before_.size()) return {};
  const std::vector<database::BlameRow>& rows = experiment_.blame[role];
  const auto index_of = [&](ContextId context) {
    return std::lower_bound(rows.begin(), rows.end(), context,
                            [](const database::BlameRow& row, ContextId id) { return row.context < id; }) -
           rows.begin();
  };
  const Blame& low = before_[role][static_cast<std::size_t>(index_of(first))];
  const Blame& high = before_[role][static_cast<std::size_t>(index_of(end))];
  return {high.sum - low.sum, high.min - low.min, high.max - low.max};
}

Blame BlameIndex::exclusive(std::uint32_t role, ContextId context) const {
  return between(role, context, context + 1);
}

Blame BlameIndex::inclusive(std::uint32_t role, ContextId context) const {
  return between(role, context, experiment_.contexts[context].end);
}

FlatBlame::FlatBlame(const database::Experiment& experiment) {
  std::vector<FlatId> seen;
  for (const std::vector<database::BlameRow>& rows : experiment.blame) {
    std::vector<Figures>& scopes = scopes_.emplace_back(experiment.flat.size());
    for (const database::BlameRow& row : rows) {
      const Blame blame{row.sum, row.min, row.max};
      const ContextId owner = nearest_scope(experiment, row.context);
      if (owner == kNone) continue;
      const FlatId own = experiment.contexts[owner].flat;
      for (FlatId scope = own; scope != kNone; scope = experiment.flat[scope].parent) {
        if (scope == own || counts_whole_extent(experiment.flat[scope].kind))
          scopes[scope].exclusive.add(blame);
      }
      seen.clear();
      for (ContextId at = owner; at != kNone; at = experiment.contexts[at].parent) {
        for (FlatId scope = experiment.contexts[at].flat; scope != kNone;
             scope = experiment.flat[scope].parent) {
          seen.push_back(scope);
        }
      }
      std::sort(seen.begin(), seen.end());
      seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
      for (const FlatId scope : seen) scopes[scope].inclusive.add(blame);
    }
  }
}

Blame FlatBlame::get(std::uint32_t role, FlatId scope, bool inclusive) const {
  if (role >= scopes_.size()) return {};
  const Figures& figures = scopes_[role][scope];
  return inclusive ? figures.inclusive : figures.exclusive;
}

}  // namespace culprit::views
