#include "tui/state/workspace.hpp"

#include "commands/run.hpp"
#include "request/view_request.hpp"
#include "text/shorten.hpp"
#include "tree/column_heading.hpp"
#include "views/callers.hpp"
#include "views/calling_context.hpp"
#include "views/column.hpp"
#include "views/derived.hpp"
#include "views/flat.hpp"
#include "views/rank_list.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <sstream>

namespace culprit::viewer::tui {
namespace {

/// What a first look needs: time, own time, idleness and blame.
std::vector<std::string> first_columns(const database::Contents& experiment) {
  const std::string time = primary_metric(experiment);
  std::vector<std::string> names = {time + ":sum (I)", time + ":sum (E)"};
  if (views::metric_named(experiment, "idleness")) {
    names.emplace_back("idleness:sum (I)");
    names.emplace_back("imbalance:sum (E)");
  }
  return names;
}

}  // namespace

Workspace::Workspace(const views::Source& source, std::string database, bool unicode)
    : passed_over{.fold_calls = true,
                  .statements = true,
                  .start_up = true,
                  .wait_internals = true,
                  .recursion = true,
                  .library = true},
      source_(source),
      database_(std::move(database)),
      unicode_(unicode),
      figures_(std::make_unique<views::Figures>(source)) {
  make_views();
  set_columns(first_columns(experiment()));
  const bool empty_ones =
      std::erase_if(columns_, [](const NumberColumn& each) { return each.whole == 0; }) > 0;
  if (empty_ones) set_columns(column_names());  // none is left: the run's time
}

void Workspace::make_views() {
  views_[kCallingContext] = std::make_unique<views::CallingContext>(*figures_);
  views_[kCallers] = std::make_unique<views::Callers>(*figures_);
  views_[kFlat] = std::make_unique<views::Flat>(*figures_);
}

views::Column Workspace::find(const std::string& name) const {
  return views::find_column(experiment(), name, role_, defined_);
}

void Workspace::set_columns(const std::vector<std::string>& names) {
  const std::string sorted = columns_.empty() ? std::string{} : sort_column().column.title;
  std::vector<NumberColumn> made;
  for (const std::string& name : names) {
    try {
      made.push_back({find(name), {}, {}, 0});
    } catch (const views::UnknownMetric&) {
      continue;  // of another database, or no longer defined
    }
  }
  if (made.empty()) made.push_back({find(primary_metric(experiment())), {}, {}, 0});
  columns_ = std::move(made);
  finish_columns();
  sort_ = 0;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (columns_[column].column.title == sorted) sort_ = column;
  }
}

/// Times side by side are written in one unit, so that they compare at a glance.
void Workspace::finish_columns() {
  double longest = 0;
  for (NumberColumn& each : columns_) {
    const double whole = views::total_without(
        *figures_, each.column,
        without_startup ? views::mpi_start_up(experiment()) : std::vector<database::ContextId>{});
    each.whole = std::isnan(whole) ? 0 : whole;
    each.heading = column_heading(each.column);
    if (each.column.unit == "s") longest = std::max(longest, each.whole);
  }
  for (NumberColumn& each : columns_)
    each.scale = scale_for(each.column.unit == "s" ? longest : each.whole, each.column.unit, unicode_);
}

std::vector<std::string> Workspace::column_names() const {
  std::vector<std::string> names;
  for (const NumberColumn& each : columns_) names.push_back(each.column.title);
  return names;
}

std::vector<std::string> Workspace::known_columns() const {
  std::vector<std::string> names;
  for (const views::Column& column : defined_) names.push_back(column.title);
  const auto add = [&](const std::string& event, std::initializer_list<const char*> statistics) {
    for (const char* const scope : {" (I)", " (E)"}) {
      for (const char* const statistic : statistics) names.push_back(event + ':' + statistic + scope);
    }
  };
  for (const database::Metric& metric : experiment().metrics) {
    if (metric.name == views::kImbalance) continue;
    add(metric.name, {"sum", "mean", "min", "max", "stddev", "cv", "count"});
  }
  add(std::string(views::kImbalance), {"sum", "mean", "min", "max"});
  return names;
}

void Workspace::define(const std::string& definition) {
  views::Column column = views::define_column(experiment(), definition, role_, defined_);
  defined_.push_back(column);
  definitions_.push_back(definition);
  columns_.push_back({std::move(column), {}, {}, 0});
  finish_columns();
}

void Workspace::select(const std::string& ranks, std::optional<std::uint32_t> role) {
  std::vector<std::uint32_t> locations(experiment().locations.size());
  std::iota(locations.begin(), locations.end(), 0U);
  if (!ranks.empty()) locations = views::locations_of_ranks(experiment(), views::parse_rank_list(ranks));
  if (role)
    std::erase_if(locations, [&](std::uint32_t each) { return experiment().locations[each].role != *role; });
  const bool all = ranks.empty() && !role;
  next_ranks_ = ranks;
  next_role_ = role;
  selecting_ = std::async(std::launch::async, [this, all, chosen_locations = std::move(locations)]() mutable {
    if (all) return std::make_unique<views::Figures>(source_);
    std::vector<std::uint32_t> metrics(source_.experiment().metrics.size());
    std::iota(metrics.begin(), metrics.end(), 0U);
    return std::make_unique<views::Figures>(source_, std::move(chosen_locations), metrics);
  });
}

bool Workspace::finish_select() {
  constexpr std::chrono::milliseconds kPatience{5};
  if (!selecting() || selecting_.wait_for(kPatience) != std::future_status::ready) return false;
  figures_ = selecting_.get();
  ranks_ = next_ranks_;
  role_ = next_role_;
  make_views();
  std::erase_if(marked, [](const NodeRef& each) { return each.view == kCallers; });
  if (chosen && chosen->view == kCallers) chosen.reset();
  defined_ = views::define_columns(experiment(), definitions_, role_);
  set_columns(column_names());
  return true;
}

std::string Workspace::csv_of(std::size_t view) const {
  constexpr std::array<ViewKind, kViews> kKinds = {ViewKind::calling_context, ViewKind::callers,
                                                   ViewKind::flat};
  Invocation invocation;
  invocation.command = Command::view;
  invocation.format = Format::csv;
  invocation.view = kKinds.at(view);
  invocation.metrics = column_names();
  invocation.sort = sort_column().column.title;
  invocation.derive = definitions_;
  invocation.ranks = ranks_;
  if (role_) invocation.role = experiment().roles[*role_].name;
  std::ostringstream text;
  run_view(text, {}, source_, invocation);
  return text.str();
}

std::string Workspace::title_of(const NodeRef& ref) {
  const views::Frame frame = view(ref.view).frame(ref.node);
  std::string title = label(frame);
  if (frame.kind == database::ContextKind::loop && frame.file.empty()) {
    views::NodeId around = view(ref.view).parent(ref.node);
    while (around != database::kNone && !views::is_procedure(view(ref.view).kind(around)))
      around = view(ref.view).parent(around);
    if (around != database::kNone) title += " in " + without_parameters(label(view(ref.view).frame(around)));
  }
  const std::string where = place(frame);
  if (!where.empty() && title.find(where) == std::string::npos) title += "  " + where;
  return title;
}

std::string Workspace::path_of(const NodeRef& ref) {
  const views::View& shown = view(ref.view);
  std::string path;
  for (views::NodeId at = ref.node; at != database::kNone; at = shown.parent(at)) {
    const database::ContextKind kind = shown.kind(at);
    const bool skipped = kind == database::ContextKind::call || kind == database::ContextKind::root ||
                         (shown.flags(at) & database::kStartUp) != 0;
    if (skipped && at != ref.node) continue;
    path.insert(0, without_parameters(label(shown.frame(at))) + (path.empty() ? "" : "/"));
  }
  return path;
}

database::ContextId Workspace::context_of(const NodeRef& ref) {
  if (ref.view == kCallingContext) return ref.node;
  if (ref.view == kFlat) {
    const std::vector<database::ContextId> instances = experiment().flat_instances[ref.node];
    const auto most = std::max_element(instances.begin(), instances.end(), [&](auto a, auto b) {
      return figures().at_context(columns_[0].column, a) < figures().at_context(columns_[0].column, b);
    });
    return most == instances.end() ? database::kNone : *most;
  }
  return database::kNone;
}

}  // namespace culprit::viewer::tui
