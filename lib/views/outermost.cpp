#include "views/outermost.hpp"

namespace culprit::views {

Outermost::Outermost(const database::Experiment& experiment) : begin_(experiment.flat.size() + 1, 0) {
  visit_outermost(experiment, [&](database::ContextId, database::FlatId scope) { ++begin_[scope + 1]; });
  for (std::size_t scope = 1; scope < begin_.size(); ++scope) begin_[scope] += begin_[scope - 1];
  contexts_.resize(begin_.back());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  visit_outermost(experiment, [&](database::ContextId context, database::FlatId scope) {
    contexts_[next[scope]++] = context;
  });
}

std::span<const database::ContextId> Outermost::instances(database::FlatId scope) const {
  return std::span(contexts_).subspan(begin_[scope], begin_[scope + 1] - begin_[scope]);
}

}  // namespace culprit::views
