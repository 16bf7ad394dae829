#pragma once

#include "database/database.hpp"

#include <span>
#include <vector>

namespace culprit::views {

/// For every flat scope, the contexts inside it that no other context inside it encloses: its outermost
/// (exposed) instances (algorithms.md 4). With recursion the inner instances are left out, so that the
/// inclusive values of what is listed add up to at most the total. Building costs one pass over the contexts.
class Outermost {
 public:
  explicit Outermost(const database::Experiment& experiment);

  /// Ascending.
  [[nodiscard]] std::span<const database::ContextId> instances(database::FlatId scope) const;

 private:
  std::vector<std::size_t> begin_;  ///< per scope, and one past the last
  std::vector<database::ContextId> contexts_;
};

/// Calls visit(context, scope) for every outermost context of every flat scope, contexts ascending.
template <class Visit>
void visit_outermost(const database::Experiment& experiment, Visit visit) {
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
