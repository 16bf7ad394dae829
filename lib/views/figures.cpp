#include "views/figures.hpp"

#include "views/derived.hpp"
#include "views/rank_list.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace culprit::views {
namespace {

using database::ContextId;
using database::ContextKind;
using database::FlatId;

constexpr double kNotAvailable = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Figures::Figures(const Source& source)
    : source_(source),
      selected_(source.experiment().locations.size(), true),
      contexts_(index(source.experiment().context_summaries)),
      flat_(index(source.experiment().flat_summaries)),
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
  contexts_ = index(selection_->contexts);
  flat_ = index(selection_->flat);
  threads_ = selection_->threads;
  for (const std::uint32_t location : locations_) selected_[location] = true;
}

Figures::Table Figures::index(const std::vector<database::Summary>& summaries) const {
  Table table(experiment().roles.size() * experiment().metrics.size(), nullptr);
  for (const database::Summary& summary : summaries) {
    table[summary.role * experiment().metrics.size() + summary.metric] = &summary;
  }
  return table;
}

metrics::Accumulator Figures::look_up(const Table& table, std::uint32_t role, std::uint32_t metric,
                                      std::uint32_t scope, bool inclusive) const {
  const database::Summary* const summary = table[role * experiment().metrics.size() + metric];
  if (summary == nullptr) return {};
  const auto found = std::lower_bound(
      summary->entries.begin(), summary->entries.end(), scope,
      [](const database::SummaryEntry& entry, std::uint32_t id) { return entry.scope < id; });
  if (found == summary->entries.end() || found->scope != scope) return {};
  return inclusive ? found->inclusive : found->exclusive;
}

metrics::Accumulator Figures::context(std::uint32_t role, std::uint32_t metric, ContextId context,
                                      bool inclusive) const {
  return look_up(contexts_, role, metric, context, inclusive);
}

metrics::Accumulator Figures::flat(std::uint32_t role, std::uint32_t metric, FlatId scope,
                                   bool inclusive) const {
  return look_up(flat_, role, metric, scope, inclusive);
}

double Figures::at(const Table& table, const Column& column, std::uint32_t scope) const {
  std::vector<metrics::Accumulator> by_role(experiment().roles.size());
  for (std::uint32_t role = 0; role < by_role.size(); ++role) {
    if (column.role && *column.role != role) continue;
    by_role[role] = look_up(table, role, column.metric, scope, column.name.inclusive);
  }
  return figure(column, by_role, threads_);
}

double Figures::at_context(const Column& column, ContextId context) const {
  if (!column.blame) return at(contexts_, column, context);
  if (!over_all()) return kNotAvailable;
  std::vector<Blame> by_role(experiment().roles.size());
  for (std::uint32_t role = 0; role < by_role.size(); ++role) {
    by_role[role] = column.name.inclusive ? blame_.inclusive(role, context) : blame_.exclusive(role, context);
  }
  return figure(column, by_role, threads_);
}

double Figures::at_flat(const Column& column, FlatId scope) const {
  if (!column.blame) return at(flat_, column, scope);
  if (!over_all()) return kNotAvailable;
  if (!flat_blame_) flat_blame_ = std::make_unique<FlatBlame>(experiment());
  std::vector<Blame> by_role(experiment().roles.size());
  for (std::uint32_t role = 0; role < by_role.size(); ++role) {
    by_role[role] = flat_blame_->get(role, scope, column.name.inclusive);
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

Presence Figures::presence(const Table& table, std::uint32_t scope, std::optional<std::uint32_t> role) const {
  Presence presence;
  for (std::uint32_t each = 0; each < experiment().roles.size(); ++each) {
    if (role && *role != each) continue;
    presence.threads += threads_[each];
    presence.observers += look_up(table, each, presence_metric_, scope, true).observers;
  }
  return presence;
}

Presence Figures::context_presence(ContextId context, std::optional<std::uint32_t> role) const {
  return presence(contexts_, context, role);
}

Presence Figures::flat_presence(FlatId scope, std::optional<std::uint32_t> role) const {
  return presence(flat_, scope, role);
}

std::vector<std::uint64_t> Figures::per_thread(ContextId context, std::uint32_t metric,
                                               bool inclusive) const {
  std::vector<std::uint64_t> values = source_.context_values(context, metric);
  values.resize(experiment().locations.size(), 0);
  for (std::size_t location = 0; location < values.size(); ++location) {
    if (!selected_[location]) values[location] = 0;
  }
  if (inclusive) return values;

  // What is left when everything that does not belong to the scope is taken away: callees of a procedure, and
  // for other scopes all nested scopes but their statements (algorithms.md 3).
  const std::vector<database::Context>& contexts = experiment().contexts;
  const bool procedure = contexts[context].kind == ContextKind::procedure;
  for (ContextId below = context + 1; below < contexts[context].end;) {
    const ContextKind kind = contexts[below].kind;
    const bool belongs = kind == ContextKind::statement || (procedure && kind != ContextKind::procedure);
    if (belongs) {
      ++below;
      continue;
    }
    const std::vector<std::uint64_t> nested = source_.context_values(below, metric);
    for (std::size_t location = 0; location < nested.size(); ++location) {
      if (selected_[location]) values[location] -= std::min(values[location], nested[location]);
    }
    below = contexts[below].end;
  }
  return values;
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

std::vector<std::uint32_t> locations_of_ranks(const database::Experiment& experiment,
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
    throw UnknownMetric("no rank " + format_rank_list(missing) + " was measured (there are " +
                        std::to_string(experiment.run.ranks) + " ranks)");
  }
  return locations;
}

}  // namespace culprit::views
