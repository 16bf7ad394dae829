// Values of the page's rows on each thread, the heaviest rows first, until the page has enough bytes. Threads
// are those of the role that spends most there. Beyond 1024 of them neighbours become groups, with mean,
// least and largest value, so that a single slow rank stays visible. Cost: a reading of per-thread values for
// each row.
#include "commands/html/rank_series.hpp"

#include "findings/phrases.hpp"
#include "request/view_request.hpp"
#include "tree/column_heading.hpp"
#include "views/column.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace culprit::viewer {
namespace {

constexpr std::size_t kOneByOne = 1024;   // threads that are shown one by one
constexpr std::size_t kMostGroups = 400;  // else
constexpr std::size_t kPerSeries = 40;    // bytes beside the values
constexpr std::size_t kLabelled = 4096;   // threads without ranks that have names on the page

/// Threads of one role, and how the page shows them.
struct RoleThreads {
  std::vector<std::uint32_t> locations;
  std::size_t per_group = 1;

  [[nodiscard]] std::size_t groups() const { return (locations.size() + per_group - 1) / per_group; }
  [[nodiscard]] std::size_t bytes() const {  // of a series
    return (per_group == 1 ? 1 : 3) * groups() * 2 * 4 / 3 + kPerSeries;
  }
};

std::vector<RoleThreads> threads_of_roles(const database::Contents& experiment) {
  std::vector<RoleThreads> roles(experiment.roles.size());
  for (std::uint32_t location = 0; location < experiment.locations.size(); ++location)
    roles[experiment.locations[location].role].locations.push_back(location);
  for (RoleThreads& role : roles) {
    if (role.locations.size() > kOneByOne)
      role.per_group = things_per_group(role.locations.size(), kMostGroups);
  }
  return roles;
}

Json role_json(const database::Contents& experiment, std::uint32_t number, const RoleThreads& role) {
  Json labels = nullptr;  // null: rank by rank from 0 on
  bool plain = true;
  for (std::size_t i = 0; i < role.locations.size() && plain; ++i) {
    const database::LocationEntry each = experiment.locations[role.locations[i]];
    plain = each.thread == 0 && each.rank == static_cast<std::int32_t>(i);
  }
  if (!plain) {
    labels = Json::array();
    for (std::size_t i = 0; i < std::min(kLabelled, role.locations.size()); ++i)
      labels.push_back(location_label(experiment, role.locations[i]));
  }
  return {{"name", role_phrase(experiment, number)},
          {"threads", role.locations.size()},
          {"per_group", role.per_group},
          {"labels", std::move(labels)}};
}

/// One value per location, as the row shows it.
std::vector<double> values_of_row(const views::Figures& figures, const PageTree& tree, std::size_t row,
                                  const views::Column& column) {
  const views::VisibleNode& shown = tree[row];
  const std::uint32_t metric = column.metric;
  const bool inclusive = column.name.inclusive;
  std::vector<std::uint64_t> values;
  if (shown.fold && tree.view().name() == "callers") {
    for (const views::NodeId node : inclusive ? shown.fold->outermost : shown.fold->own) {
      const std::vector<std::uint64_t> more = tree.view().per_thread(node, metric, inclusive);
      values.resize(more.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += more[i];
    }
    for (const views::NodeId node : shown.fold->re_entered) {
      const std::vector<std::uint64_t> less = tree.view().per_thread(node, metric, inclusive);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= std::min(values[i], less[i]);
    }
  } else if (shown.fold && tree.view().name() == "calling-context") {
    values = figures.per_thread(inclusive ? shown.fold->outermost : shown.fold->own, metric, inclusive);
    if (inclusive && !shown.fold->re_entered.empty()) {
      const std::vector<std::uint64_t> less = figures.per_thread(shown.fold->re_entered, metric, true);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= std::min(values[i], less[i]);
    }
  } else {
    values = tree.view().per_thread(shown.node, metric, inclusive);
  }
  return {values.begin(), values.end()};
}

std::uint32_t busiest_role(const std::vector<RoleThreads>& roles, const std::vector<double>& values) {
  std::uint32_t busiest = 0;
  double most = -1;
  for (std::uint32_t role = 0; role < roles.size(); ++role) {
    double sum = 0;
    for (const std::uint32_t location : roles[role].locations) sum += values[location];
    if (sum > most) {
      most = sum;
      busiest = role;
    }
  }
  return busiest;
}

/// Means of the groups, and where several threads share one, their least and largest values.
std::vector<double> grouped_values(const RoleThreads& role, const std::vector<double>& values,
                                   double divisor) {
  std::vector<double> means, least, largest;
  for (std::size_t first = 0; first < role.locations.size(); first += role.per_group) {
    const std::size_t end = std::min(first + role.per_group, role.locations.size());
    double sum = 0;
    double low = values[role.locations[first]], high = low;
    for (std::size_t i = first; i < end; ++i) {
      const double value = values[role.locations[i]];
      sum += value;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    means.push_back(sum / static_cast<double>(end - first) / divisor);
    if (role.per_group == 1) continue;
    least.push_back(low / divisor);
    largest.push_back(high / divisor);
  }
  means.insert(means.end(), least.begin(), least.end());
  means.insert(means.end(), largest.begin(), largest.end());
  return means;
}

struct Wanted {
  std::size_t tree = 0, row = 0;
  double weight = 0;
};

std::vector<Wanted> rows_by_weight(const std::vector<const PageTree*>& trees) {
  std::vector<Wanted> all;
  for (std::size_t tree = 0; tree < trees.size(); ++tree) {
    for (std::size_t row = 0; row < trees[tree]->size(); ++row) {
      const views::VisibleNode& shown = (*trees[tree])[row];
      const bool unsampled = shown.fold && !shown.fold->unsampled.empty();
      if (!unsampled && trees[tree]->weight(row) > 0) all.push_back({tree, row, trees[tree]->weight(row)});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Wanted::weight);
  return all;
}

}  // namespace

Json rank_series(const views::Figures& figures, const std::vector<const PageTree*>& trees,
                 std::size_t bytes) {
  const database::Contents& experiment = figures.experiment();
  const std::vector<RoleThreads> roles = threads_of_roles(experiment);
  Json json = {{"roles", Json::array()}, {"metrics", Json::array()}, {"rows", Json::array()}};
  for (std::uint32_t role = 0; role < roles.size(); ++role)
    json["roles"].push_back(role_json(experiment, role, roles[role]));
  std::vector<views::Column> columns;
  const std::string time = primary_metric(experiment);
  for (const std::string& name : {time + ":sum (I)", time + ":sum (E)", std::string("idleness:sum (I)")}) {
    if (!views::metric_named(experiment, name.substr(0, name.find(':')))) continue;
    columns.push_back(views::find_column(experiment, name));
    json["metrics"].push_back({{"name", column_heading(columns.back())}, {"unit", columns.back().unit}});
  }
  const std::vector<Wanted> rows = rows_by_weight(trees);
  std::size_t taken = 0;
  std::size_t written = 0;
  for (const Wanted& each : rows) {
    if (taken >= bytes) break;
    std::optional<std::uint32_t> role;
    Json of_row = Json::array({each.tree, each.row});
    for (const views::Column& column : columns) {
      const std::vector<double> values = values_of_row(figures, *trees[each.tree], each.row, column);
      if (!role) role = busiest_role(roles, values);  // the others go with the first
      const std::vector<double> shown = grouped_values(roles[*role], values, column.divisor);
      if (of_row.size() == 2) of_row.push_back(*role);
      const bool nothing = std::ranges::all_of(shown, [](double value) { return value == 0; });
      Json packed = nothing ? Json() : scaled_values(shown, 16);
      of_row.push_back(nothing ? Json() : Json::array({packed["most"], packed["data"]}));
      taken += nothing ? 5 : roles[*role].bytes();
    }
    json["rows"].push_back(std::move(of_row));
    ++written;
  }
  json["left_out"] = rows.size() - written;
  return json;
}

}  // namespace culprit::viewer
