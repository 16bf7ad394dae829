#include "commands/list.hpp"
#include "findings/causes.hpp"
#include "findings/coverage.hpp"
#include "findings/mpi_calls.hpp"
#include "findings/phrases.hpp"
#include "findings/thread_waits.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <utility>

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
std::string ranks_text(const database::Contents& experiment, const RowGroup& group) {
  std::vector<ThreadTimes::Part> shares = group.who.parts();
  std::ranges::stable_sort(shares, std::ranges::greater(), &ThreadTimes::Part::ns);
  std::string text;
  for (std::size_t i = 0; i < std::min(kRanksNamed, shares.size()); ++i) {
    text += (i == 0 ? "" : ", ") + thread_phrase(experiment, shares[i].location);
    if (shares.size() > 1)
      text += keep(" " + round_percent(static_cast<double>(shares[i].ns) / static_cast<double>(group.ns)));
  }
  if (shares.size() > kRanksNamed) text += ", …";
  return text;
}

}  // namespace

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
  Json paths = Json::array();
  for (const CriticalScope& one : experiment.trace().critical) {
    Json ranks = Json::array();
    for (const CriticalScope::Share& share : one.shares) {
      const database::LocationEntry location = experiment.locations[share.location];
      ranks.push_back({{"rank", location.rank < 0 ? Json() : Json(location.rank)},
                       {"thread", location.thread},
                       {"seconds", seconds_of(share.ns)}});
    }
    paths.push_back({{"path", path_json(experiment, one.scope.context)},
                     {"seconds", seconds_of(one.ns)},
                     {"imbalance_s", seconds_of(one.imbalance_ns)},
                     {"between_calls", one.scope.between},
                     {"ranks", std::move(ranks)}});
  }
  return {{"length_s", seconds_of(length_of(experiment))}, {"paths", std::move(paths)}};
}

namespace {

/// How long it is, and what balancing its code could save.
std::string introduce_path(const database::Contents& experiment, bool unicode) {
  const std::uint64_t length = length_of(experiment);
  std::uint64_t imbalance = 0, of_calls = 0;
  for (const CriticalScope& one : experiment.trace().critical) {
    imbalance += one.imbalance_ns;
    if (is_in_call(experiment, one.scope)) of_calls += one.imbalance_ns;
  }
  const std::uint64_t most_saved = std::min(imbalance, beyond_mean_work(experiment) + of_calls);
  const bool threads = !lines_are_threads(experiment) && other_threads_call_mpi(experiment);
  const bool awaited = thread_waits_ns(experiment.trace().time_map) != 0;
  const auto time = [&](std::uint64_t ns) { return keep(duration(seconds_of(ns), unicode)); };
  const auto share = [&](std::uint64_t ns) {
    return keep(percent(static_cast<double>(ns) / static_cast<double>(length)));
  };
  std::string gain;
  if (const std::string partly = partly_measured(experiment); !partly.empty()) {
    gain = "But " + partly + ": the critical path of the whole run may go through the others.";
  } else if (lines_are_threads(experiment)) {
    gain = time(imbalance) + " (" + share(imbalance) + ") are above the mean of all threads.";
  } else if (threads || (awaited && experiment.run.ranks > 1)) {
    gain = "What balancing its code would save is not known: threads of one process work at the same time.";
  } else if (experiment.run.ranks > 1) {
    gain = time(imbalance) + " (" + share(imbalance) +
           ") are above the mean of all ranks; balancing all code would save " + time(most_saved) +
           " at most.";
  } else {
    gain = "It is all of the only rank's time.";
  }
  std::string cut = cut_time_lines_phrase(experiment);
  if (const std::string unmatched = unmatched_requests_phrase(experiment, "the path and its savings");
      !unmatched.empty())
    cut += (cut.empty() ? "" : " ") + unmatched;
  const std::string doubt =
      threads
          ? " Other threads than main ones call MPI, too: where a main thread waits for a lock or for a "
            "thread's end, the path goes on with the thread that it waited for; elsewhere with the one that "
            "left MPI last, which need not be that."
          : "";
  if (lines_are_threads(experiment))
    return "The critical path is " + time(length) + " long, from the start of the process to its end; " +
           share(experiment.trace().critical_calls_ns) + " of it in waits that no known thread ended. " +
           gain + (cut.empty() ? cut : ' ' + cut);
  return "The critical path is " + time(length) + " long, from the end of MPI_Init to the last " +
         (experiment.quality.cut_short > 0 ? "recorded call; " : "call of MPI_Finalize; ") +
         share(experiment.trace().critical_calls_ns) + " of it in MPI calls. " + gain + doubt +
         (cut.empty() ? cut : ' ' + cut);
}

}  // namespace

List critical_path_list(const database::Contents& experiment, const ListOptions& options) {
  List list{.command = "critical-path", .title = "CRITICAL PATH", .amount = "on the path"};
  list.whole_ns = length_of(experiment);
  if (experiment.trace().critical.empty() || list.whole_ns == 0) {
    list.introduction = "No time was recorded between MPI_Init and MPI_Finalize.";
    return list;
  }
  list.introduction = introduce_path(experiment, options.unicode);
  UsersScopes scopes(experiment);
  RowGroups<database::TimedScope> groups;
  for (const CriticalScope& one : experiment.trace().critical) {
    RowGroup& group = groups[{.context = scopes.of(one.scope.context), .between = one.scope.between}];
    group.ns += one.ns;
    group.part_ns += one.imbalance_ns;
    for (const CriticalScope::Share& share : one.shares) group.who.add(share.location, share.ns);
  }
  add_rows(list, groups.take(), options, [&](const database::TimedScope& scope, const RowGroup& group) {
    std::string text = "on " + ranks_text(experiment, group);
    if (group.part_ns > 0)
      text += "; " + keep(duration(seconds_of(group.part_ns), options.unicode)) + " above the mean";
    return ListRow{.ns = group.ns,
                   .name = {},
                   .text = std::move(text),
                   .topic = {},
                   .paths = {{"", scope.context, scope.between, group.who.locations()}}};
  });
  list.has_sets = false;  // the shares of single ranks stand in the text
  return list;
}

}  // namespace culprit::viewer
