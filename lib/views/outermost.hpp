#pragma once

#include "database/contents.hpp"

#include <vector>

namespace culprit::views {

/// The contexts inside a flat scope that no other context inside it encloses: its outermost (exposed)
/// instances (docs/algorithms.md 4), ascending. With recursion the inner instances are left out, so that the
/// inclusive values of what is listed add up to at most the total.
std::vector<database::ContextId> outermost_instances(const database::Contents& experiment,
                                                     database::FlatId scope);

/// Calls visit(context, scope) for every outermost context of every flat scope, contexts ascending.
template <class Visit>
void visit_outermost(const database::Contents& experiment, Visit visit) {
  std::vector<std::uint32_t> open(experiment.flat.size(), 0);
  std::vector<database::ContextId> path;
  const auto each_scope = [&](database::ContextId context, auto action) {
    for (database::FlatId scope = experiment.contexts[context].flat; scope != database::kNone;
         scope = experiment.flat[scope].parent) {
      action(scope);
    }
  };
  for (database::ContextId context = 0; context < experiment.contexts.size(); ++context) {
    while (!path.empty() && experiment.contexts[path.back()].end <= context) {
      each_scope(path.back(), [&](database::FlatId scope) { --open[scope]; });
      path.pop_back();
    }
    each_scope(context, [&](database::FlatId scope) {
      if (open[scope]++ == 0) visit(context, scope);
    });
    path.push_back(context);
  }
}

}  // namespace culprit::views
