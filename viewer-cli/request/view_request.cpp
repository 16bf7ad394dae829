#include "request/view_request.hpp"

#include "views/callers.hpp"
#include "views/calling_context.hpp"
#include "views/column.hpp"
#include "views/derived.hpp"
#include "views/flat.hpp"
#include "views/rank_list.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer {
namespace {

constexpr std::uint32_t kCallersInText = 2;  // levels of callers

/// A comparison may be of threads that only one of the runs has: a role without threads stands for them in
/// the other.
std::optional<std::uint32_t> role_of(const views::Source& source, const Invocation& invocation) {
  if (invocation.role.empty()) return std::nullopt;
  const std::vector<database::Role>& roles = source.experiment().roles;
  if (invocation.command == Command::diff &&
      std::ranges::find(roles, invocation.role, &database::Role::name) == roles.end())
    return static_cast<std::uint32_t>(roles.size());
  try {
    return views::find_role(source.experiment(), invocation.role);
  } catch (const views::UnknownMetric& unknown) {
    throw UsageError("--role: " + std::string(unknown.what()));
  }
}

std::unique_ptr<views::View> make_view(ViewKind kind, const views::Figures& figures) {
  switch (kind) {
    case ViewKind::callers:
      return std::make_unique<views::Callers>(figures);
    case ViewKind::flat:
      return std::make_unique<views::Flat>(figures);
    case ViewKind::calling_context:
      break;
  }
  return std::make_unique<views::CallingContext>(figures);
}

/// Time, own time, idleness and blame: what a first look needs.
std::vector<std::string> default_metrics(const database::Contents& experiment, bool over_all) {
  const std::string primary = primary_metric(experiment);
  std::vector<std::string> names = {primary + ":sum (I)", primary + ":sum (E)"};
  if (views::metric_named(experiment, "idleness")) {
    names.emplace_back("idleness:sum (I)");
    if (over_all) names.emplace_back("imbalance:sum (E)");
  }
  return names;
}

/// Columns beside the default ones, unless they are there.
void add_further_columns(ViewRequest& request, const std::vector<views::Column>& further) {
  for (const views::Column& column : further) {
    const bool known = std::any_of(request.columns.begin(), request.columns.end(),
                                   [&](const views::Column& other) { return other.title == column.title; });
    if (!known) request.columns.push_back(column);
  }
}

}  // namespace

double ViewRequest::whole(const views::Column& column) const {
  std::vector<database::ContextId> left_out;
  if (without_startup) left_out = views::mpi_start_up(figures->experiment());
  const double sum = views::total_without(*figures, column, left_out);
  return std::isnan(sum) ? 0 : sum;
}

double whole_of(const ViewRequest& request) {
  return views::total(*request.figures, request.options.size.value_or(request.options.sort));
}

std::string primary_metric(const database::Contents& experiment) {
  return experiment.metrics.empty() ? "REALTIME" : experiment.metrics[views::main_metric(experiment)].name;
}

std::vector<views::Column> derived_columns(const views::Source& source, const Invocation& invocation) {
  const std::optional<std::uint32_t> role = role_of(source, invocation);
  std::vector<views::Column> defined;
  for (const std::string& definition : invocation.derive) {
    try {
      defined.push_back(views::define_column(source.experiment(), definition, role, defined));
    } catch (const views::BadDefinition& bad) {
      throw UsageError("--derive: " + definition + ": " + bad.what());
    }
  }
  return defined;
}

views::Column require_column(const views::Source& source, const Invocation& invocation,
                             const std::string& name) {
  try {
    return views::find_column(source.experiment(), name, role_of(source, invocation),
                              derived_columns(source, invocation));
  } catch (const views::UnknownMetric& unknown) {
    throw UsageError("metric: " + std::string(unknown.what()));
  }
}

std::unique_ptr<views::Figures> make_figures(const views::Source& source, const Invocation& invocation,
                                             const std::vector<views::Column>& columns) {
  if (invocation.ranks.empty()) return std::make_unique<views::Figures>(source);
  std::vector<std::uint32_t> metrics;
  std::vector<views::Column> measured;
  for (const views::Column& column : columns) views::add_measured(column, measured);
  for (const views::Column& column : measured) {
    if (!column.blame) metrics.push_back(column.metric);
  }
  try {
    const std::vector<std::int32_t> ranks = views::parse_rank_list(invocation.ranks);
    return std::make_unique<views::Figures>(source, views::locations_of_ranks(source.experiment(), ranks),
                                            metrics);
  } catch (const std::invalid_argument& refused) {
    throw UsageError("--ranks: " + std::string(refused.what()));
  } catch (const views::UnknownMetric& unknown) {
    throw UsageError("--ranks: " + std::string(unknown.what()));
  }
}

std::vector<views::Column> sampled_columns(const database::Contents& experiment,
                                           const std::vector<views::Column>& shown) {
  const std::string time = primary_metric(experiment) + ":sum (I)";
  const bool occurs =
      std::any_of(shown.begin(), shown.end(), [&](const views::Column& each) { return each.title == time; });
  return occurs ? shown : std::vector<views::Column>{};
}

ViewRequest make_view_request(const views::Source& source, const Invocation& invocation) {
  const bool text = invocation.format == Format::text;
  ViewRequest request;
  std::vector<std::string> names = invocation.metrics;
  if (names.empty()) names = default_metrics(source.experiment(), invocation.ranks.empty());
  for (const std::string& name : names) request.columns.push_back(require_column(source, invocation, name));
  if (invocation.metrics.empty()) request.defaults = request.columns.size();
  const std::string sort = !invocation.sort.empty()     ? invocation.sort
                           : invocation.metrics.empty() ? primary_metric(source.experiment())
                                                        : invocation.metrics.front();
  request.options.sort = require_column(source, invocation, sort);
  if (request.options.sort.blame && !invocation.ranks.empty())
    throw UsageError("--sort: " + sort +
                     ": is computed over all ranks (leave out --ranks, or sort by another)");
  if (invocation.metrics.empty()) {
    add_further_columns(request, derived_columns(source, invocation));
    add_further_columns(request, {request.options.sort});
  }
  // A branch is small by what the run is measured in; the value of a formula says nothing about that. Nor
  // does what a scope takes itself say what lies below it.
  if (request.options.sort.derived) {
    request.options.size = require_column(source, invocation, primary_metric(source.experiment()));
  } else if (views::MetricName whole = request.options.sort.name; !whole.inclusive) {
    whole.inclusive = true;
    request.options.size = require_column(source, invocation, views::to_string(whole));
  }
  std::vector<views::Column> needed = request.columns;
  if (request.options.size) needed.push_back(*request.options.size);
  needed.push_back(request.options.sort);
  request.figures = make_figures(source, invocation, needed);
  request.view = make_view(invocation.view, *request.figures);
  request.role = invocation.role;
  request.without_startup = invocation.without_startup;

  request.options.focus = invocation.focus;
  request.options.depth = invocation.depth;
  request.options.min_percent = invocation.min_percent.value_or(text && !invocation.all ? kLeastInText : 0);
  if (text) {
    if (!invocation.depth && !invocation.all && invocation.view == ViewKind::callers) {
      request.options.depth = kCallersInText;
    }
    request.options.fold_calls = true;
    request.options.hide_start_up = !invocation.all;
    request.options.hide_statements = !invocation.lines && !invocation.all;
    request.options.hide_wait_internals = !invocation.inside_waits && !invocation.all;
    request.options.fold = !invocation.all && !invocation.ids;
    if (request.options.fold) request.options.sampled = sampled_columns(source.experiment(), request.columns);
  }
  return request;
}

}  // namespace culprit::viewer
