#include "tui/panes/per_rank.hpp"

#include "text/quantity.hpp"
#include "views/derived.hpp"
#include "views/view.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

namespace culprit::viewer::tui {
namespace {

bool is_per_thread(const database::Contents& experiment, const views::Column& column) {
  std::vector<views::Column> measured;
  views::add_measured(column, measured);
  return std::all_of(measured.begin(), measured.end(), [&](const views::Column& each) {
    return !each.blame && !experiment.metrics[each.metric].summary_only;
  });
}

/// What each role has at a node, the role with most first.
std::vector<RoleShare> shares_of_roles(const database::Contents& experiment,
                                       std::span<const std::uint32_t> locations,
                                       const std::vector<double>& values) {
  std::vector<RoleShare> shares(experiment.roles.size());
  for (std::uint32_t role = 0; role < shares.size(); ++role) shares[role].role = role;
  for (const std::uint32_t location : locations) {
    if (!(values[location] > 0)) continue;
    RoleShare& share = shares[experiment.locations[location].role];
    share.sum += values[location];
    ++share.threads;
  }
  std::erase_if(shares, [](const RoleShare& each) { return each.threads == 0; });
  std::ranges::stable_sort(shares, std::ranges::greater(), &RoleShare::sum);
  return shares;
}

/// Which role is drawn: one bar alone compares nothing.
std::uint32_t role_to_draw(const Workspace& workspace, const std::vector<RoleShare>& shares) {
  if (workspace.role()) return *workspace.role();
  if (shares.empty()) return views::main_role(workspace.experiment());
  const auto& roles = workspace.experiment().roles;
  const auto several = std::ranges::find_if(shares, [](const RoleShare& each) { return each.threads > 1; });
  const bool alone = roles[shares.front().role].threads == 1 && several != shares.end();
  return alone ? several->role : shares.front().role;
}

/// Of a row that stands for several nodes, the sums of their values.
std::vector<double> values_of(Workspace& workspace, const NodeRef& ref, const views::Column& column) {
  if (!ref.fold || column.derived) return views::per_thread(workspace.view(ref.view), ref.node, column);
  const views::View& view = workspace.view(ref.view);
  std::vector<double> sums(workspace.experiment().locations.size(), 0);
  const auto add = [&](const std::vector<views::NodeId>& nodes, double sign) {
    for (const views::NodeId node : nodes) {
      const std::vector<double> values = views::per_thread(view, node, column);
      for (std::size_t location = 0; location < values.size(); ++location)
        sums[location] += sign * values[location];
    }
  };
  add(column.name.inclusive ? ref.fold->outermost : ref.fold->own, 1);
  if (column.name.inclusive || view.name() == "callers") add(ref.fold->re_entered, -1);
  return sums;
}

}  // namespace

std::optional<views::Column> column_over_ranks(const Workspace& workspace) {
  if (is_per_thread(workspace.experiment(), workspace.columns().sort_column().column))
    return workspace.columns().sort_column().column;
  for (const NumberColumn& each : workspace.columns()) {
    if (is_per_thread(workspace.experiment(), each.column)) return each.column;
  }
  return std::nullopt;
}

RankSeries read_series(Workspace& workspace, const NodeRef& ref, const views::Column& column,
                       std::optional<std::uint32_t> role) {
  RankSeries series;
  series.ref = ref;
  series.title = workspace.title_of(ref);
  series.column = column.title;
  series.unit = column.unit == "threads" || column.unit == "ratio" ? std::string{} : column.unit;
  const std::vector<double> values = values_of(workspace, ref, column);
  const std::span<const std::uint32_t> selected = workspace.figures().locations();
  series.elsewhere = shares_of_roles(workspace.experiment(), selected, values);
  series.role = role ? *role : role_to_draw(workspace, series.elsewhere);
  std::erase_if(series.elsewhere, [&](const RoleShare& each) { return each.role == series.role; });
  for (const std::uint32_t location : selected) {
    if (workspace.experiment().locations[location].role != series.role) continue;
    series.locations.push_back(location);
    series.values.push_back(std::isnan(values[location]) ? 0 : values[location]);
  }
  return series;
}

SeriesSummary summarize(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {*smallest, sum / static_cast<double>(values.size()), *largest};
}

std::vector<AlikeThreads> group_alike(const std::vector<double>& values) {
  constexpr double kOfDifferences = 1.0 / 6, kOfLargest = 1.0 / 20;
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  std::vector<AlikeThreads> groups;
  if (order.empty()) return groups;
  const double largest = values[order.front()];
  const double apart = std::max(kOfDifferences * (largest - values[order.back()]), kOfLargest * largest);
  for (const std::size_t thread : order) {
    const double value = values[thread];
    if (groups.empty() || groups.back().smallest - value > apart) groups.push_back({{}, value, value, {}});
    groups.back().threads.push_back(thread);
    groups.back().smallest = value;
  }
  for (AlikeThreads& group : groups) std::sort(group.threads.begin(), group.threads.end());
  return groups;
}

std::string times_mean(double times, bool unicode) {
  constexpr double kMany = 10;
  return grouped(times, times < kMany ? 1 : 0) + (unicode ? " × mean" : " x mean");
}

}  // namespace culprit::viewer::tui
