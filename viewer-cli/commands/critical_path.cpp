#include "commands/critical_path.hpp"

#include "commands/list.hpp"
#include "findings/coverage.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::CriticalScope;

constexpr std::size_t kRanksNamed = 3;

std::uint64_t length_of(const database::Contents& experiment) {
  return experiment.trace().critical_end_ns - experiment.trace().critical_begin_ns;
}

/// What of the path outside MPI calls is more than a rank works on average: the excess of all its code, with
/// signs (docs/algorithms.md 8.1).
std::uint64_t beyond_mean_work(const database::Contents& experiment) {
  const database::TraceAnalyses& trace = experiment.trace();
  const double work =
      static_cast<double>(length_of(experiment)) - static_cast<double>(trace.critical_calls_ns);
  const double mean = trace.parallel * static_cast<double>(trace.run_ns);
  return static_cast<std::uint64_t>(std::max(0.0, work - mean));
}

/// `rank 3 80 %, rank 0 20 %`, the largest shares first.
std::string ranks_text(const database::Contents& experiment, const CriticalScope& one) {
  std::vector<CriticalScope::Share> shares = one.shares;
  std::ranges::stable_sort(shares, std::ranges::greater(), &CriticalScope::Share::ns);
  std::string text;
  for (std::size_t i = 0; i < std::min(kRanksNamed, shares.size()); ++i) {
    text += (i == 0 ? "" : ", ") + location_label(experiment, shares[i].location);
    if (shares.size() > 1)
      text += keep(" " + round_percent(static_cast<double>(shares[i].ns) / static_cast<double>(one.ns)));
  }
  if (shares.size() > kRanksNamed) text += ", …";
  return text;
}

}  // namespace

std::vector<CriticalScope> critical_by_scope(const database::Contents& experiment) {
  UsersScopes scopes(experiment);
  std::map<database::TimedScope, std::pair<CriticalScope, std::map<std::uint32_t, std::uint64_t>>> sums;
  for (const CriticalScope& one : experiment.trace().critical) {
    const database::TimedScope scope{.context = scopes.of(one.scope.context), .between = one.scope.between};
    auto& [sum, shares] = sums[scope];
    sum.scope = scope;
    sum.ns += one.ns;
    sum.imbalance_ns += one.imbalance_ns;
    for (const CriticalScope::Share& share : one.shares) shares[share.location] += share.ns;
  }
  std::vector<CriticalScope> list;
  for (auto& [scope, entry] : sums) {
    for (const auto& [location, ns] : entry.second) entry.first.shares.push_back({location, ns});
    list.push_back(std::move(entry.first));
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &CriticalScope::ns);
  return list;
}

Table critical_path_table(const database::Contents& experiment) {
  Table table{{{"path"}, {"location"}, {"seconds"}, {"path_seconds"}, {"imbalance_s"}, {"between_calls"}},
              {}};
  for (const CriticalScope& one : experiment.trace().critical) {
    for (const CriticalScope::Share& share : one.shares) {
      table.rows.push_back({Table::Path{one.scope.context}, Table::Thread{share.location},
                            seconds_of(share.ns), seconds_of(one.ns), seconds_of(one.imbalance_ns),
                            one.scope.between});
    }
  }
  return table;
}

Json critical_path_json(const database::Contents& experiment) {
  const Table::Columns of_path = {{"path"}, {"seconds"}, {"imbalance_s"}, {"between_calls"}};
  Json paths = Json::array();
  for (const CriticalScope& one : experiment.trace().critical) {
    Table ranks{{{"rank"}, {"seconds"}}, {}};
    for (const CriticalScope::Share& share : one.shares) {
      ranks.rows.push_back({std::int64_t{experiment.locations[share.location].rank}, seconds_of(share.ns)});
    }
    Json path = to_json(experiment, of_path,
                        {Table::Path{one.scope.context}, seconds_of(one.ns), seconds_of(one.imbalance_ns),
                         one.scope.between});
    path["ranks"] = to_json(experiment, ranks);
    paths.push_back(std::move(path));
  }
  return {{"length_s", seconds_of(length_of(experiment))}, {"paths", std::move(paths)}};
}

std::string critical_path_summary(const database::Contents& experiment, bool unicode) {
  const std::uint64_t length = length_of(experiment);
  if (experiment.trace().critical.empty() || length == 0)
    return "No time was recorded between MPI_Init and MPI_Finalize.";
  std::uint64_t imbalance = 0;
  for (const CriticalScope& one : experiment.trace().critical) imbalance += one.imbalance_ns;
  const std::uint64_t most_saved = std::min(imbalance, beyond_mean_work(experiment));
  const auto time = [&](std::uint64_t ns) { return keep(duration(seconds_of(ns), unicode)); };
  const auto share = [&](std::uint64_t ns) {
    return keep(percent(static_cast<double>(ns) / static_cast<double>(length)));
  };
  std::string gain;
  if (const std::string partly = partly_measured(experiment); !partly.empty()) {
    gain = "But " + partly + ": the critical path of the whole run may go through the others.";
  } else if (experiment.run.ranks > 1) {
    gain = time(imbalance) + " (" + share(imbalance) +
           ") are above the mean of all ranks; balancing all code would save " + time(most_saved) +
           " at most.";
  } else {
    gain = "It is all of the only rank's time.";
  }
  return "The critical path is " + time(length) +
         " long, from the end of MPI_Init to the last call of MPI_Finalize; " +
         share(experiment.trace().critical_calls_ns) + " of it in MPI calls. " + gain +
         (experiment.trace().stopped > 0 ? ' ' + cut_time_lines_phrase(experiment) : std::string{});
}

std::string critical_row_phrase(const database::Contents& experiment, const CriticalScope& one,
                                bool unicode) {
  const std::string above = keep(duration(seconds_of(one.imbalance_ns), unicode)) + " above the mean";
  return "on " + ranks_text(experiment, one) + (one.imbalance_ns > 0 ? "; " + above : "");
}

void write_critical_path(std::ostream& out, const Screen& screen, const database::Contents& experiment) {
  out << wrap(critical_path_summary(experiment, screen.unicode), screen.width) << '\n';
  const std::vector<CriticalScope> paths = critical_by_scope(experiment);
  const std::uint64_t length = length_of(experiment);
  if (paths.empty() || length == 0) return;
  out << '\n';
  const auto share = [&](std::uint64_t ns) {
    return keep(percent(static_cast<double>(ns) / static_cast<double>(length)));
  };
  const RowWriter rows(out, screen, experiment, paths.front().ns);
  const std::size_t shown =
      rows_to_show(paths, static_cast<double>(length), [](const auto& one) { return one.ns; });
  for (std::size_t i = 0; i < shown; ++i) {
    const CriticalScope& one = paths[i];
    rows.row(one.ns, screen.bold(share(one.ns)) + ' ' + critical_row_phrase(experiment, one, screen.unicode));
    rows.path(one.scope.context, one.scope.between);
  }
  rows.rest(paths.size(), shown);
}

}  // namespace culprit::viewer
