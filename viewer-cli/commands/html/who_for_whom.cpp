#include "commands/html/who_for_whom.hpp"

#include "metrics/wait_pattern.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace culprit::viewer {
namespace {

constexpr std::size_t kLargest = 25;

using Pair = std::pair<std::size_t, std::size_t>;

/// Amounts between things numbered from 0 on, as cells of groups.
Json cells_json(const std::map<Pair, double>& amounts, std::size_t per_group) {
  std::map<Pair, double> grouped;
  for (const auto& [pair, amount] : amounts)
    grouped[{pair.first / per_group, pair.second / per_group}] += amount;
  Json cells = Json::array();
  for (const auto& [pair, amount] : grouped) cells.push_back({pair.first, pair.second, short_number(amount)});
  return cells;
}

/// What one thread waited for another, and where most of it.
struct Waited {
  double seconds = 0;
  std::map<database::ContextId, double> in;

  [[nodiscard]] database::ContextId most() const {
    return std::ranges::max_element(in, {}, [](const auto& each) { return each.second; })->first;
  }
};

Json largest_waits(const database::Contents& experiment, const PageTree& calls,
                   const std::map<Pair, Waited>& waited) {
  std::vector<std::pair<Pair, const Waited*>> sorted;
  for (const auto& [pair, each] : waited) sorted.emplace_back(pair, &each);
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto& each) { return each.second->seconds; });
  if (sorted.size() > kLargest) sorted.resize(kLargest);
  const Screen screen;
  Json json = Json::array();
  for (const auto& [pair, each] : sorted) {
    const database::ContextId where = each->most();
    const auto row = calls.row_of(where);
    json.push_back({{"from", location_label(experiment, static_cast<std::uint32_t>(pair.first))},
                    {"to", location_label(experiment, static_cast<std::uint32_t>(pair.second))},
                    {"amount", short_number(each->seconds)},
                    {"in", unwrapped(path_text(experiment, where, screen))},
                    {"row", row ? Json(*row) : Json()}});
  }
  return json;
}

/// `rank 3`; of groups `rank 3 to rank 5`.
Json group_labels(const database::Contents& experiment, const std::vector<std::size_t>& locations,
                  std::size_t per_group) {
  const auto label = [&](std::size_t at) {
    return location_label(experiment, static_cast<std::uint32_t>(locations[at]));
  };
  Json labels = Json::array();
  for (std::size_t first = 0; first < locations.size(); first += per_group) {
    const std::size_t last = std::min(first + per_group, locations.size()) - 1;
    labels.push_back(first == last ? label(first) : label(first) + " to " + label(last));
  }
  return labels;
}

Json waits_matrix(const database::Contents& experiment, const PageTree& calls, std::size_t side) {
  std::map<Pair, Waited> waited;  // by location
  std::set<std::size_t> locations;
  for (const database::Wait& wait : experiment.waits()) {
    if (!metrics::is_whole_wait(wait.pattern) || wait.cause_location == database::kNone) continue;
    Waited& each = waited[{wait.location, wait.cause_location}];
    each.seconds += seconds_of(wait.ns);
    each.in[wait.context] += seconds_of(wait.ns);
    locations.insert({wait.location, wait.cause_location});
  }
  if (waited.empty()) return nullptr;
  std::map<std::size_t, std::size_t> place_of;  // of the locations that occur
  for (const std::size_t location : locations) place_of.emplace(location, place_of.size());
  std::map<Pair, double> amounts;
  for (const auto& [pair, each] : waited)
    amounts[{place_of.at(pair.first), place_of.at(pair.second)}] += each.seconds;
  const std::size_t per_group = things_per_group(locations.size(), side);
  return {{"title", "waiting"},
          {"unit", "s"},
          {"from", "waits"},
          {"to", "for"},
          {"threads", locations.size()},
          {"per_group", per_group},
          {"labels", group_labels(experiment, {locations.begin(), locations.end()}, per_group)},
          {"cells", cells_json(amounts, per_group)},
          {"largest", largest_waits(experiment, calls, waited)}};
}

Json traffic_matrix(const database::Contents& experiment, std::size_t side) {
  std::map<Pair, double> bytes;
  std::size_t ranks = 0;
  std::uint32_t together = 1;
  for (const database::PartnerTraffic& row : experiment.communication().partners) {
    if (row.from < 0 || row.to < 0) continue;
    bytes[{static_cast<std::size_t>(row.from), static_cast<std::size_t>(row.to)}] +=
        static_cast<double>(row.bytes);
    ranks = std::max(ranks, static_cast<std::size_t>(std::max(row.from, row.to)) + row.ranks);
    together = std::max(together, row.ranks);
  }
  if (bytes.empty()) return nullptr;
  const std::size_t per_group = std::max<std::size_t>(things_per_group(ranks, side), together);
  std::vector<std::pair<Pair, double>> sorted(bytes.begin(), bytes.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), &std::pair<Pair, double>::second);
  if (sorted.size() > kLargest) sorted.resize(kLargest);
  Json largest = Json::array();
  for (const auto& [pair, amount] : sorted) {
    largest.push_back({{"from", "rank " + std::to_string(pair.first)},
                       {"to", "rank " + std::to_string(pair.second)},
                       {"amount", short_number(amount)},
                       {"in", ""},
                       {"row", nullptr}});
  }
  return {{"title", "bytes sent"},
          {"unit", "B"},
          {"from", "sends"},
          {"to", "to"},
          {"threads", ranks},
          {"per_group", per_group},
          {"labels", nullptr},
          {"cells", cells_json(bytes, per_group)},
          {"largest", std::move(largest)}};
}

}  // namespace

Json rank_matrices(const database::Contents& experiment, const PageTree& calls, std::size_t side) {
  Json json = Json::array();
  for (Json each : {waits_matrix(experiment, calls, side), traffic_matrix(experiment, side)}) {
    if (!each.is_null()) json.push_back(std::move(each));
  }
  return json;
}

}  // namespace culprit::viewer
