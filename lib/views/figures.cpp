// Figures of scopes over all threads or some (docs/algorithms.md 2, 3): from summaries where these have them,
// else from the values of single threads.
#include "views/figures.hpp"

#include "database/exclusive.hpp"
#include "views/derived.hpp"
#include "views/rank_list.hpp"

#include <algorithm>
#include <numeric>

namespace culprit::views {

namespace {

using database::ContextId;
using database::FlatId;

}  // namespace

Figures::Figures(const Source& source)
    : source_(source),
      selected_(source.experiment().locations.size(), true),
      blame_(source.experiment()),
      presence_metric_(main_metric(source.experiment())) {
  locations_.resize(experiment().locations.size());
  std::iota(locations_.begin(), locations_.end(), 0U);
  for (const database::Role& role : experiment().roles) threads_.push_back(role.threads);
}

Figures::Figures(const Source& source, std::vector<std::uint32_t> locations,
                 std::span<const std::uint32_t> metrics)
    : source_(source),
      locations_(std::move(locations)),
      selected_(source.experiment().locations.size(), false),
      blame_(source.experiment()),
      presence_metric_(main_metric(source.experiment())) {
  std::vector<std::uint32_t> wanted(metrics.begin(), metrics.end());
  wanted.push_back(presence_metric_);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  selection_ = std::make_unique<Selection>(summarise(source, locations_, wanted));
  threads_ = selection_->threads;
  for (const std::uint32_t location : locations_) selected_[location] = true;
}

metrics::Accumulator Figures::look_up(Tree tree, std::uint32_t role, std::uint32_t metric,
                                      std::uint32_t scope, bool inclusive) const {
  if (!selection_) {
    const database::Contents& all = experiment();
    return (tree == Tree::contexts ? all.context_summaries : all.flat_summaries)
        .get(role, metric, scope, inclusive);
  }
  const auto& summaries = tree == Tree::contexts ? selection_->contexts : selection_->flat;
  const auto key = [](const database::Summary& summary) { return std::pair(summary.role, summary.metric); };
  const auto summary = std::ranges::lower_bound(summaries, std::pair(role, metric), {}, key);
  if (summary == summaries.end() || key(*summary) != std::pair(role, metric)) return {};
  const auto found = std::ranges::lower_bound(summary->entries, scope, {}, &database::SummaryEntry::scope);
  if (found == summary->entries.end() || found->scope != scope) return {};
  return inclusive ? found->inclusive : found->exclusive;
}

metrics::Accumulator Figures::context(std::uint32_t role, std::uint32_t metric, ContextId context,
                                      bool inclusive) const {
  return look_up(Tree::contexts, role, metric, context, inclusive);
}

metrics::Accumulator Figures::flat(std::uint32_t role, std::uint32_t metric, FlatId scope,
                                   bool inclusive) const {
  return look_up(Tree::flat, role, metric, scope, inclusive);
}

double Figures::at(Tree tree, const Column& column, std::uint32_t scope) const {
  std::vector<metrics::Accumulator> by_role(experiment().roles.size());
  for (std::uint32_t role = 0; role < by_role.size(); ++role) {
    if (column.role && *column.role != role) continue;
    by_role[role] = look_up(tree, role, column.metric, scope, column.name.inclusive);
  }
  return figure(column, by_role, threads_);
}

double Figures::at_context(const Column& column, ContextId context) const {
  if (!column.blame) return at(Tree::contexts, column, context);
  if (!over_all()) return kNotAvailable;
  std::vector<Blame> by_role(experiment().roles.size());
  for (std::uint32_t role = 0; role < by_role.size(); ++role) {
    by_role[role] = column.name.inclusive ? blame_.inclusive(role, context) : blame_.exclusive(role, context);
  }
  return figure(column, by_role, threads_);
}

double Figures::at_flat(const Column& column, FlatId scope) const {
  if (!column.blame) return at(Tree::flat, column, scope);
  if (!over_all()) return kNotAvailable;
  std::vector<Blame> by_role(experiment().roles.size());
  for (std::uint32_t role = 0; role < by_role.size(); ++role) {
    by_role[role] = experiment().blame.of_flat(role, scope, column.name.inclusive);
  }
  return figure(column, by_role, threads_);
}

double Figures::of_threads(const Column& column, std::span<const std::uint64_t> values) const {
  std::vector<metrics::Accumulator> by_role(experiment().roles.size());
  for (const std::uint32_t location : locations_) {
    if (values[location] != 0) by_role[experiment().locations[location].role].accumulate(values[location]);
  }
  return figure(column, by_role, threads_);
}

Presence Figures::presence(Tree tree, std::uint32_t scope, std::optional<std::uint32_t> role) const {
  Presence presence;
  for (std::uint32_t each = 0; each < experiment().roles.size(); ++each) {
    if (role && *role != each) continue;
    presence.threads += threads_[each];
    presence.observers += look_up(tree, each, presence_metric_, scope, true).observers;
  }
  return presence;
}

Presence Figures::context_presence(ContextId context, std::optional<std::uint32_t> role) const {
  return presence(Tree::contexts, context, role);
}

Presence Figures::flat_presence(FlatId scope, std::optional<std::uint32_t> role) const {
  return presence(Tree::flat, scope, role);
}

std::vector<std::uint64_t> Figures::per_thread(ContextId context, std::uint32_t metric,
                                               bool inclusive) const {
  return per_thread(std::span(&context, 1), metric, inclusive);
}

std::vector<std::uint64_t> Figures::per_thread(std::span<const ContextId> contexts, std::uint32_t metric,
                                               bool inclusive) const {
  std::vector<std::uint64_t> values;
  if (inclusive) {
    values = source_.inclusive_values(contexts, metric);
  } else {
    std::vector<ContextId> parts;
    for (const ContextId context : contexts) {
      const std::vector<ContextId> part = exclusive_part(experiment(), context);
      parts.insert(parts.end(), part.begin(), part.end());
    }
    std::ranges::sort(parts);
    values = exclusive_values(parts, metric);
  }
  keep_selected(values);
  return values;
}

std::optional<std::vector<std::uint64_t>> Figures::flat_exclusive_per_thread(FlatId scope,
                                                                             std::uint32_t metric) const {
  std::optional<std::vector<std::uint64_t>> values = source_.flat_exclusive_values(scope, metric);
  if (values) keep_selected(*values);
  return values;
}

void Figures::keep_selected(std::vector<std::uint64_t>& values) const {
  values.resize(experiment().locations.size(), 0);
  if (over_all()) return;
  for (std::size_t location = 0; location < values.size(); ++location) {
    if (!selected_[location]) values[location] = 0;
  }
}

/// Of many contexts, by whole subtrees where these are few: every list of values that is read costs.
std::vector<std::uint64_t> Figures::exclusive_values(std::span<const ContextId> contexts,
                                                     std::uint32_t metric) const {
  constexpr std::size_t kMany = 2048;    // fewer are read faster than the tree is gone through
  constexpr std::size_t kCostOfOne = 8;  // lists from which the values of a subtree are added up, at most
  const auto size = static_cast<std::uint32_t>(experiment().contexts.size());
  std::vector<std::vector<ContextId>> layers;
  if (contexts.size() >= kMany)
    layers = nested_subtrees(
        contexts, size, [this](ContextId context) { return experiment().contexts[context].parent; },
        contexts.size() / kCostOfOne);
  if (layers.empty()) return source_.exclusive_values(contexts, metric);
  std::vector<std::uint64_t> values = source_.inclusive_values(layers[0], metric);
  for (std::size_t layer = 1; layer < layers.size(); ++layer) {
    const std::vector<std::uint64_t> within = source_.inclusive_values(layers[layer], metric);
    for (std::size_t location = 0; location < values.size(); ++location)
      values[location] += layer % 2 == 0 ? within[location] : 0 - within[location];
  }
  return values;
}

std::vector<ContextId> exclusive_part(const database::Contents& experiment, ContextId context) {
  std::vector<ContextId> part = {context};
  const ContextId end = experiment.contexts[context].end;
  for (ContextId below = context + 1; below < end;) {
    const database::Context& nested = experiment.contexts[below];
    const database::ExclusiveOwners owners = database::exclusive_owners(experiment.contexts, below);
    const bool belongs = owners.directly == context || owners.procedure == context;
    if (belongs) part.push_back(below);
    below = belongs && database::is_nested(nested.kind) ? below + 1 : nested.end;
  }
  return part;
}

double total(const Figures& figures, Column column) {
  if (figures.experiment().contexts.empty()) return 0;
  if (column.derived) {
    std::vector<double> totals;
    for (const Column& operand : column.derived->operands()) totals.push_back(total(figures, operand));
    return column.derived->evaluate(totals);
  }
  column.name.inclusive = true;
  return figures.at_context(column, 0);
}

std::vector<std::uint32_t> locations_of_ranks(const database::Contents& experiment,
                                              std::span<const std::int32_t> ranks) {
  std::vector<std::uint32_t> locations;
  std::vector<bool> found(ranks.size(), false);
  for (std::uint32_t location = 0; location < experiment.locations.size(); ++location) {
    const auto rank = std::find(ranks.begin(), ranks.end(), experiment.locations[location].rank);
    if (rank == ranks.end()) continue;
    found[static_cast<std::size_t>(rank - ranks.begin())] = true;
    locations.push_back(location);
  }
  std::vector<std::int32_t> missing;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!found[rank]) missing.push_back(ranks[rank]);
  }
  if (!missing.empty()) {
    throw UnknownMetric("no rank " + format_rank_list(missing) + " was measured (of " +
                        std::to_string(experiment.run.ranks) +
                        (experiment.run.ranks == 1 ? " rank)" : " ranks)"));
  }
  return locations;
}

using database::ContextId;

std::vector<std::vector<ContextId>> nested_subtrees(std::span<const ContextId> set, std::uint32_t contexts,
                                                    const std::function<ContextId(ContextId)>& parent_of,
                                                    std::size_t most) {
  std::vector<std::vector<ContextId>> layers;
  // How many subtrees each context lies in: in the set where that is odd.
  std::vector<std::uint32_t> around(contexts, 0);
  auto next = set.begin();
  std::size_t subtrees = 0;
  for (ContextId context = 0; context < contexts; ++context) {
    const bool inside = next != set.end() && *next == context;
    if (inside) ++next;
    const ContextId parent = parent_of(context);
    const std::uint32_t outer = parent < context ? around[parent] : 0;
    around[context] = outer;
    if (inside == (outer % 2 == 1)) continue;
    if (++subtrees > most) return {};
    if (layers.size() <= outer) layers.resize(outer + 1);
    layers[outer].push_back(context);
    ++around[context];
  }
  return layers;
}

}  // namespace culprit::views
