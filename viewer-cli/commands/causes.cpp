#include "findings/causes.hpp"

#include "commands/list.hpp"
#include "findings/cause_confidence.hpp"
#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::Cause;
using database::Wait;

/// What is one row; `location` is kNone where threads fall together.
struct CauseKey {
  std::uint32_t path = 0;
  bool between = false;
  std::uint32_t location = database::kNone;
  friend auto operator<=>(const CauseKey&, const CauseKey&) = default;  // NOLINT(modernize-use-nullptr)
};

}  // namespace

std::vector<Cause> causes_by_scope(const database::Contents& experiment) {
  UsersScopes scopes(experiment);
  std::map<std::pair<std::uint32_t, database::TimedScope>, Cause> sums;
  std::map<std::pair<std::uint32_t, database::TimedScope>, std::uint64_t> most;  // of one part
  for (const Cause& cause : experiment.trace().causes) {
    const database::TimedScope scope{.context = scopes.of(cause.scope.context),
                                     .between = cause.scope.between};
    Cause& sum = sums[{cause.location, scope}];
    sum.location = cause.location;
    sum.scope = scope;
    sum.short_term_ns += cause.short_term_ns;
    sum.long_term_ns += cause.long_term_ns;
    std::uint64_t& largest = most[{cause.location, scope}];
    if (cause.cost_ns() <= largest) continue;
    largest = cause.cost_ns();
    sum.waits_in = cause.waits_in;
  }
  std::vector<Cause> list;
  list.reserve(sums.size());
  for (const auto& [key, cause] : sums) list.push_back(cause);
  std::ranges::stable_sort(list, std::ranges::greater(), &Cause::cost_ns);
  return list;
}

Table causes_table(const database::Contents& experiment) {
  Table table{{{"location"},
               {"path"},
               {"short_term_s"},
               {"long_term_s"},
               {"undetermined_s"},
               {"between_calls"},
               {"confidence"},
               {"surer_with"},
               {"waiter_ranks", Table::In::csv},
               {"waiters", Table::In::json},
               {"waiter_path"},
               {"critical_section"}},
              {}};
  const CauseConfidence confidence(experiment);
  const WaitsFor waits_for(experiment);
  for (const Cause& cause : experiment.trace().causes) {
    ThreadTimes whom;
    for (const Wait* wait : waits_for.thread(cause.location, cause.waits_in))
      whom.add(wait->location, wait->ns);
    whom.add_up();
    const CauseConfidence::Judgement judged = confidence.of(cause);
    table.rows.push_back({Table::Thread{cause.location}, Table::Path{cause.scope.context},
                          seconds_of(cause.short_term_ns), seconds_of(cause.long_term_ns),
                          cause.scope.between ? seconds_of(cause.cost_ns()) : 0.0, cause.scope.between,
                          confidence_name(judged.confidence), judged.surer_with,
                          Table::Ranks{whom.locations()}, whom.locations(),
                          cause.waits_in == database::kNone ? Table::Cell() : Table::Path{cause.waits_in},
                          is_contention(waits_for.thread(cause.location, cause.waits_in))});
  }
  table.rows.push_back({{},
                        Table::Path{},
                        seconds_of(experiment.trace().unattributed_ns),
                        0.0,
                        0.0,
                        false,
                        {},
                        {},
                        Table::Ranks{},
                        Table::Threads{},
                        {},
                        false});
  return table;
}

Json causes_json(const database::Contents& experiment) {
  Table table = causes_table(experiment);
  const auto place = std::ranges::find_if(experiment.trace().causes, [&](const Cause& cause) {
    return cause.cost_ns() < experiment.trace().unattributed_ns;
  });
  std::rotate(table.rows.begin() + (place - experiment.trace().causes.begin()), table.rows.end() - 1,
              table.rows.end());
  return to_json(experiment, table);
}

namespace {

std::string introduce_causes(const database::Contents& experiment, std::uint64_t whole_ns,
                             std::uint64_t explained_ns, const ListOptions& options) {
  const double whole = static_cast<double>(whole_ns);
  const bool unicode = options.unicode;
  const double unexplained = 1 - static_cast<double>(explained_ns) / whole;
  std::string text =
      "What made ranks wait, of " + keep(duration(seconds_of(whole_ns), unicode)) + " in all (" +
      keep(percent(std::max(unexplained, 0.0))) +
      " unexplained). Indirectly: through ranks that it kept waiting, which then kept others waiting.";
  text = of_lines(experiment, std::move(text));
  const std::string report =
      waiting_of_report_phrase(options.waiting, {.ranks_s = seconds_of(whole_ns)}, unicode);
  if (!report.empty()) text += ' ' + report;
  const std::uint64_t left_out_ns = experiment.trace().unattributed_ns + explained_ns - whole_ns;
  if (static_cast<double>(left_out_ns) > 0.005 * whole)
    text += " Waiting in MPI_Init, " + keep(duration(seconds_of(left_out_ns), unicode)) +
            ", is left out: what made ranks late there lies before the time lines.";
  if (const std::optional<CommonCause> common = common_cause(experiment)) {
    text += ' ' + keep(percent(static_cast<double>(common->who.sum()) / whole)) + " come from " +
            common_cause_phrase(experiment, *common, kWholeName, unicode) + '.';
  }
  return text;
}

/// Of two procedures' contexts: each rank may call it on a path of its own.
bool is_same_function(const database::Contents& experiment, database::ContextId a, database::ContextId b) {
  if (a == b || a == database::kNone || b == database::kNone) return a == b;
  const database::FlatId flat = experiment.contexts[a].flat;
  return flat != database::kNone && flat == experiment.contexts[b].flat;
}

/// Whether waits in the call that is named may be most of what the row cost others directly.
bool is_most(const RowGroup& group) {
  constexpr double kMost = 2.0 / 3;
  const auto direct_ns = static_cast<double>(group.ns - group.part_ns);
  return static_cast<double>(group.whom.sum()) >= kMost * direct_ns;
}

/// The procedure of the call that others waited in.
database::ContextId waiting_in(const database::Contents& experiment, database::ContextId call) {
  return call == database::kNone ? call : enclosing_procedure(experiment, call);
}

/// What falls together in one row.
RowGroups<CauseKey> group_causes(const database::Contents& experiment, const std::vector<Cause>& causes,
                                 const ListOptions& options) {
  const WaitsFor waits_for(experiment);
  ShownPaths paths(experiment);
  RowGroups<CauseKey> groups;
  for (const Cause& cause : causes) {
    RowGroup& group = groups[{paths.number(cause.scope.context), cause.scope.between,
                              options.thread_of_row(cause.location)}];
    group.add(cause.location, cause.cost_ns(), cause.scope.context, cause.waits_in);
    // Who waited in the call that is named: where most of the row's cost was waited for.
    if (is_same_function(experiment, waiting_in(experiment, cause.waits_in),
                         waiting_in(experiment, group.other))) {
      for (const Wait* wait : waits_for.thread(cause.location, cause.waits_in)) {
        if (group.made_wait.insert(wait).second) group.whom.add(wait->location, wait->ns);
      }
    }
    group.part_ns += cause.long_term_ns;
  }
  return groups;
}

/// Words rows, and remembers what these words mean.
class CauseRows {
 public:
  CauseRows(const database::Contents& experiment, const ListOptions& options)
      : experiment_(experiment), options_(options), confidence_(experiment) {}

  ListRow row(const CauseKey& key, const RowGroup& group) {
    std::string text = thread_times_phrase(experiment_, group.who, "on", options_.unicode);
    const std::vector<const Wait*> waits(group.made_wait.begin(), group.made_wait.end());
    if (is_contention(waits)) {
      text += "; critical section";
      meanings_.insert(
          "Critical section: others wait for its lock, also where it takes no longer than theirs.");
    }
    if (group.part_ns > 0)
      text += "; " + keep(duration(seconds_of(group.part_ns), options_.unicode)) + " of it indirectly";
    if (!group.whom.empty() && group.other != database::kNone) {
      const database::ContextId procedure = waiting_in(experiment_, group.other);
      text += "; made " + threads_phrase(experiment_, group.whom.locations()) + " wait";
      // No sample says where some waits of threads are: they are whole threads'.
      if (procedure != database::kNone)
        text += " in " + keep(procedure_name(experiment_, procedure, kWholeName, options_.unicode));
      text += part_of_waits_phrase(group, options_) + (is_most(group) ? "" : ", and others elsewhere");
    }
    if (key.between) text += "; code undetermined";
    const CauseConfidence::Judgement judged = confidence_.of_path(group.ns, group.context, key.between);
    if (!judged.why.empty()) {
      text += "; likely";
      meanings_.insert(judged.why);
    }
    return {.ns = group.ns,
            .name = {},
            .text = std::move(text),
            .topic = {},
            .paths = {{"", group.context, key.between, group.who.locations()}}};
  }

  [[nodiscard]] std::string meanings() const {
    std::string text;
    for (const std::string& meaning : meanings_) text += ' ' + meaning;
    return text;
  }

 private:
  const database::Contents& experiment_;
  const ListOptions& options_;
  CauseConfidence confidence_;
  std::set<std::string> meanings_;  ///< sentences
};

}  // namespace

List causes_list(const database::Contents& experiment, const ListOptions& options) {
  List list{.command = "causes", .title = "CAUSES", .amount = "cost others"};
  list.add_note(cut_time_lines_phrase(experiment));
  const std::vector<Cause> causes = causes_by_scope(experiment);
  list.whole_ns = waiting_after_init_ns(experiment);
  std::uint64_t explained_ns = 0;
  for (const Cause& cause : causes) explained_ns += cause.cost_ns();
  if (list.whole_ns == 0) {
    list.introduction = no_waits_phrase(experiment);
    return list;
  }
  CauseRows rows(experiment, options);
  add_rows(list, group_causes(experiment, causes, options).take(), options,
           [&](const CauseKey& key, const RowGroup& group) { return rows.row(key, group); });
  list.introduction = introduce_causes(experiment, list.whole_ns, explained_ns, options) + rows.meanings();
  return list;
}

}  // namespace culprit::viewer
