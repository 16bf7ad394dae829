#include "tui/state/shown_columns.hpp"

#include "request/view_request.hpp"
#include "tree/column_heading.hpp"
#include "views/derived.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

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

ShownColumns::ShownColumns(const views::Figures& figures, bool unicode)
    : figures_(&figures), unicode_(unicode) {
  show(first_columns(experiment()));
  const bool empty_ones =
      std::erase_if(columns_, [](const NumberColumn& each) { return each.whole == 0; }) > 0;
  if (empty_ones) show(names());  // none is left: the run's time
}

void ShownColumns::replace_figures(const views::Figures& figures, std::optional<std::uint32_t> role) {
  figures_ = &figures;
  role_ = role;
  defined_ = views::define_columns(experiment(), definitions_, role_);
  show(names());
}

views::Column ShownColumns::find(const std::string& name) const {
  return views::find_column(experiment(), name, role_, defined_);
}

void ShownColumns::show(const std::vector<std::string>& names) {
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
  finish();
  sort_ = 0;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (columns_[column].column.title == sorted) sort_ = column;
  }
}

/// Times side by side are written in one unit, so that they compare at a glance.
void ShownColumns::finish() {
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

std::vector<std::string> ShownColumns::names() const {
  std::vector<std::string> names;
  for (const NumberColumn& each : columns_) names.push_back(each.column.title);
  return names;
}

std::vector<std::string> ShownColumns::known_names() const {
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

void ShownColumns::define(const std::string& definition) {
  views::Column column = views::define_column(experiment(), definition, role_, defined_);
  defined_.push_back(column);
  definitions_.push_back(definition);
  columns_.push_back({std::move(column), {}, {}, 0});
  finish();
}

}  // namespace culprit::viewer::tui
