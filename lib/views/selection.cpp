// Summaries over some of the threads (docs/algorithms.md 2 to 4), from their values per thread, formed
// exactly as merging forms those of all. Cost: the profiles of the threads that are chosen.
#include "views/selection.hpp"

#include "database/exclusive.hpp"

#include <algorithm>
#include <map>

namespace culprit::views {
namespace {

using database::ContextId;
using database::FlatId;
using database::kNone;

using Accumulators = std::vector<database::SummaryEntry>;  // dense by scope

/// One thread's values of one metric, spread over scopes.
struct ThreadValues {
  std::vector<std::uint64_t> inclusive, exclusive;

  void reset(std::size_t scopes) {
    inclusive.assign(scopes, 0);
    exclusive.assign(scopes, 0);
  }
};

void spread(const database::Contents& experiment, ContextId context, std::uint64_t value,
            ThreadValues& contexts, ThreadValues& flat) {
  const database::ExclusiveOwners owners = database::exclusive_owners(experiment.contexts, context);
  contexts.inclusive[context] += value;
  contexts.exclusive[context] += value;
  if (owners.directly != kNone) contexts.exclusive[owners.directly] += value;
  if (owners.procedure != kNone) contexts.exclusive[owners.procedure] += value;
  database::visit_exclusive_flat(experiment.contexts, experiment.flat, context,
                                 [&](FlatId scope) { flat.exclusive[scope] += value; });
}

/// Calls visit(context, scope) for every outermost context of every flat scope, contexts ascending.
template <class Visit>
void visit_outermost(const database::Contents& experiment, Visit visit) {
  std::vector<std::uint32_t> open(experiment.flat.size(), 0);
  std::vector<ContextId> path;
  const auto each_scope = [&](ContextId context, auto action) {
    for (FlatId scope = experiment.contexts[context].flat; scope != kNone;
         scope = experiment.flat[scope].parent) {
      action(scope);
    }
  };
  for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
    while (!path.empty() && experiment.contexts[path.back()].end <= context) {
      each_scope(path.back(), [&](FlatId scope) { --open[scope]; });
      path.pop_back();
    }
    each_scope(context, [&](FlatId scope) {
      if (open[scope]++ == 0) visit(context, scope);
    });
    path.push_back(context);
  }
}

void add_up(const database::Contents& experiment, ThreadValues& contexts, ThreadValues& flat) {
  for (std::size_t context = experiment.contexts.size(); context-- > 1;) {
    contexts.inclusive[experiment.contexts[context].parent] += contexts.inclusive[context];
  }
  visit_outermost(experiment, [&](ContextId context, FlatId scope) {
    flat.inclusive[scope] += contexts.inclusive[context];
  });
}

void accumulate(const ThreadValues& values, Accumulators& into) {
  for (std::size_t scope = 0; scope < into.size(); ++scope) {
    if (values.inclusive[scope] != 0) into[scope].inclusive.accumulate(values.inclusive[scope]);
    if (values.exclusive[scope] != 0) into[scope].exclusive.accumulate(values.exclusive[scope]);
  }
}

database::Summary sparse(std::uint32_t role, std::uint32_t metric, const Accumulators& dense) {
  database::Summary summary{role, metric, {}};
  for (std::size_t scope = 0; scope < dense.size(); ++scope) {
    if (dense[scope].inclusive.observers == 0 && dense[scope].exclusive.observers == 0) continue;
    summary.entries.push_back(dense[scope]);
    summary.entries.back().scope = static_cast<std::uint32_t>(scope);
  }
  return summary;
}

struct Dense {
  Accumulators contexts, flat;
};

}  // namespace

Selection summarise(const Source& source, std::span<const std::uint32_t> locations,
                    std::span<const std::uint32_t> metrics) {
  const database::Contents& experiment = source.experiment();
  Selection selection;
  selection.threads.assign(experiment.roles.size(), 0);
  std::map<std::pair<std::uint32_t, std::uint32_t>, Dense> sums;  // by (role, metric)
  ThreadValues contexts;
  ThreadValues flat;
  for (const std::uint32_t location : locations) {
    const std::uint32_t role = experiment.locations[location].role;
    ++selection.threads[role];
    const std::vector<database::Value> values = source.profile_values(location);
    for (const std::uint32_t metric : metrics) {
      if (experiment.metrics[metric].summary_only) continue;
      contexts.reset(experiment.contexts.size());
      flat.reset(experiment.flat.size());
      for (const database::Value& value : values) {
        if (value.metric == metric) spread(experiment, value.index, value.value, contexts, flat);
      }
      add_up(experiment, contexts, flat);
      Dense& sum = sums[{role, metric}];
      sum.contexts.resize(experiment.contexts.size());
      sum.flat.resize(experiment.flat.size());
      accumulate(contexts, sum.contexts);
      accumulate(flat, sum.flat);
    }
  }
  for (const auto& [key, sum] : sums) {
    selection.contexts.push_back(sparse(key.first, key.second, sum.contexts));
    selection.flat.push_back(sparse(key.first, key.second, sum.flat));
  }
  return selection;
}

}  // namespace culprit::views
