#include "tui/panes/per_rank.hpp"

#include "text/quantity.hpp"
#include "views/derived.hpp"
#include "views/view.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace culprit::viewer::tui {
namespace {

bool is_per_thread(const database::Contents& experiment, const views::Column& column) {
  std::vector<views::Column> measured;
  views::add_measured(column, measured);
  return std::all_of(measured.begin(), measured.end(), [&](const views::Column& each) {
    return !each.blame && !experiment.metrics[each.metric].summary_only;
  });
}

/// The role whose threads have most at the node.
std::uint32_t busiest_role(const database::Contents& experiment, const std::vector<std::uint32_t>& locations,
                           const std::vector<double>& values) {
  std::vector<double> sums(experiment.roles.size(), 0);
  for (const std::uint32_t location : locations) {
    if (!std::isnan(values[location])) sums[experiment.locations[location].role] += values[location];
  }
  const auto most = std::max_element(sums.begin(), sums.end());
  if (most == sums.end() || !(*most > 0)) return views::main_role(experiment);
  return static_cast<std::uint32_t>(most - sums.begin());
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
  if (column.name.inclusive) add(ref.fold->re_entered, -1);
  return sums;
}

}  // namespace

std::optional<views::Column> column_over_ranks(const Workspace& workspace) {
  if (is_per_thread(workspace.experiment(), workspace.sort_column().column))
    return workspace.sort_column().column;
  for (const NumberColumn& each : workspace.columns()) {
    if (is_per_thread(workspace.experiment(), each.column)) return each.column;
  }
  return std::nullopt;
}

RankSeries read_series(Workspace& workspace, const NodeRef& ref, const views::Column& column) {
  RankSeries series;
  series.ref = ref;
  series.title = workspace.title_of(ref);
  series.column = column.title;
  series.unit = column.unit == "threads" || column.unit == "ratio" ? std::string{} : column.unit;
  const std::vector<double> values = values_of(workspace, ref, column);
  const std::span<const std::uint32_t> selected = workspace.figures().locations();
  const std::vector<std::uint32_t> all(selected.begin(), selected.end());
  const std::uint32_t role = busiest_role(workspace.experiment(), all, values);
  for (const std::uint32_t location : all) {
    if (workspace.experiment().locations[location].role != role) continue;
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
