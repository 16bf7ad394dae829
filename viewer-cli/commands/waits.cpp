#include "commands/list.hpp"
#include "findings/coverage.hpp"
#include "findings/mpi_calls.hpp"
#include "findings/phrases.hpp"
#include "findings/quality.hpp"
#include "metrics/wait_pattern.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace culprit::viewer {
namespace {

using database::kNone;
using database::Wait;
using database::WaitPattern;

/// What is one row; `location` is kNone where threads fall together. Those of threads that only serve others
/// come last.
struct WaitKey {
  bool serves = false;
  WaitPattern pattern = WaitPattern::late_sender;
  bool exact = false;
  std::uint32_t path = 0, location = kNone;
  friend auto operator<=>(const WaitKey&, const WaitKey&) = default;  // NOLINT(modernize-use-nullptr)
};

std::string amount(std::uint64_t ns, bool unicode) {
  return keep(duration(seconds_of(ns), unicode));
}

bool serves(const database::Contents& experiment, const std::vector<bool>& serving, const Wait& wait) {
  return !serving.empty() && serving[experiment.locations[wait.location].role];
}

/// The waits that are to be listed.
std::vector<const Wait*> listed_of(const database::Contents& experiment, const ListOptions& options) {
  std::vector<const Wait*> waits;
  for (const Wait& wait : experiment.waits())
    if (!views::is_within(experiment, options.left_out, wait.context)) waits.push_back(&wait);
  return waits;
}

/// Where there are none to list.
std::string no_listed_waits_phrase(const database::Contents& experiment) {
  const std::string none = "No waits of one-sided communication or of threads.";
  if (experiment.run.ranks == 0) return "No waits of threads for each other.";
  if (experiment.trace().traced > 0) return none + ' ' + no_waits_phrase(experiment);
  return none + " Waits for messages and in collectives are in the views, as waiting" +
         (are_ranks_comparable(experiment) ? "; measured with hpcrun-lite --trace they are listed here."
                                           : ".");
}

/// Without a trace: how much waiting of MPI's is of kinds that the list beside it does not have.
std::string unlisted_waits_phrase(const database::Contents& experiment, const ListOptions& options) {
  constexpr double kNotable = 0.05;  // of all waiting
  if (experiment.waits().empty() || experiment.trace().traced > 0 || !are_ranks_comparable(experiment))
    return {};
  const double report_s = options.waiting.sum();
  const double all_s = report_s > 0 ? report_s : total_seconds(experiment, "idleness");
  const double others_s = all_s - seconds_of(waiting_ns(experiment, options));
  if (others_s < kNotable * all_s || others_s <= 0) return {};
  return "The run waits " + keep(duration(all_s, options.unicode)) +
         " in all: waits for messages and in collectives, such as barriers, are in the views, as waiting; "
         "measured with hpcrun-lite --trace they are listed here.";
}

/// Notes what the approximation could not place, what samples say otherwise, and what clocks made doubtful.
void note_remainder(List& list, const database::Contents& experiment, const ListOptions& options) {
  const database::Quality& quality = experiment.quality;
  const bool unicode = options.unicode;
  constexpr std::uint64_t kSeen = 500;  // ns: less is written as nothing
  if (quality.unclassified_wait_ns >= kSeen)
    list.add_note(amount(quality.unclassified_wait_ns, unicode) +
                  " of waiting in one-sided calls is none of these kinds" +
                  (experiment.trace().traced > 0 ? "." : ", as far as a profile shows."));
  if (quality.excess_wait_ns >= kSeen)
    list.add_note(amount(quality.excess_wait_ns, unicode) +
                  " of estimated waits is left out: samples do not confirm it.");
  list.add_note(unlisted_waits_phrase(experiment, options));
  list.add_note(polling_phrase(experiment, unicode));
  list.add_note(clocks_text(experiment));
  list.add_note(cut_time_lines_phrase(experiment));
}

ListedWaits listed_waits(const database::Contents& experiment, const ListOptions& options) {
  ListedWaits listed;
  for (const Wait* const each : listed_of(experiment, options)) {
    const Wait& wait = *each;
    if (!metrics::is_whole_wait(wait.pattern)) continue;
    const bool init = wait.pattern == metrics::WaitPattern::wait_at_init;
    const bool threads = metrics::is_of_threads(wait.pattern);
    double& sum = serves(experiment, options.serving, wait) ? listed.serving_s
                  : init                                    ? listed.init_s
                  : threads                                 ? listed.threads_s
                                                            : listed.ranks_s;
    sum += seconds_of(wait.ns);
  }
  return listed;
}

/// How much there is in all, and how much of it is indirect.
std::string introduction(const database::Contents& experiment, std::uint64_t whole_ns,
                         const ListOptions& options) {
  const bool unicode = options.unicode;
  const std::string text = "Who waited where, and for whom: " + amount(whole_ns, unicode) + " in all" +
                           (options.left_out.empty() ? "" : " outside MPI_Init and MPI_Finalize");
  std::uint64_t direct = 0, known = 0;
  for (const Wait* const wait : listed_of(experiment, options)) {
    if (!wait->direct_ns || serves(experiment, options.serving, *wait)) continue;
    direct += *wait->direct_ns;
    known += wait->ns;
  }
  if (known == 0) return text + '.';
  // Of approximations it is not known.
  const std::string of =
      known == whole_ns ? " of it " : " of the " + amount(known, unicode) + " from time lines ";
  if (direct == known)
    return text + ", all" + of + "direct: those who were waited for had not waited themselves.";
  return text + ", " + keep(percent(static_cast<double>(known - direct) / static_cast<double>(known))) + of +
         "indirect: those who were waited for had been kept waiting themselves (`causes` follows them).";
}

std::string name_of_row(const WaitKey& key) {
  const metrics::WaitPatternText& text = metrics::text_of(key.pattern);
  std::string name(text.name);
  if (text.whole != key.pattern) name.append(" (part of ").append(metrics::name_of(text.whole)).append(")");
  return key.exact ? name : name + " (approximated)";
}

/// `rank 3`, `ranks 0-3`, `ranks 0-3, most for 2 (1.3 s)`.
std::string whom_phrase(const database::Contents& experiment, const ThreadTimes& whom, bool unicode) {
  return whom.even() ? threads_phrase(experiment, whom.locations())
                     : thread_times_phrase(experiment, whom, "for", unicode);
}

/// `ranks 0-63, most on 17 (3.1 s), for rank 3; 12 % indirect; 640 waits, mean 20 ms`.
std::string text_of_row(const database::Contents& experiment, const WaitKey& key, const RowGroup& group,
                        const ListOptions& options) {
  std::string text = thread_times_phrase(experiment, group.who, "on", options.unicode);
  if (!group.whom.empty() && !metrics::is_completion(key.pattern)) {
    const bool lock = key.pattern == WaitPattern::lock_wait;
    text += (lock ? ", for a lock of " : ", for ") + whom_phrase(experiment, group.whom, options.unicode);
  }
  if (metrics::is_completion(key.pattern)) return text + "; not in the total: it waits for no rank";
  if (key.serves) text += "; waiting to be needed, not in the total";
  constexpr double kWorthSaying = 0.005;
  const double indirect = static_cast<double>(group.part_ns) / static_cast<double>(group.ns);
  if (group.ns > 0 && indirect >= kWorthSaying) text += "; " + keep(round_percent(indirect) + " indirect");
  if (options.counts && group.count > 1)
    text += "; " +
            keep(counted(group.count, "wait") + ", mean " + amount(group.ns / group.count, options.unicode));
  return text;
}

/// Of rows of lock waits: where the locks were given back, by call path.
class CriticalSections {
 public:
  void add(const WaitKey& row, std::uint32_t path, const Wait& wait) {
    Section& section = sections_[row][path];
    section.ns += wait.ns;
    if (section.context == kNone) section.context = wait.cause_context;
  }
  /// The path with most of the row's waiting.
  void add_to(const WaitKey& row, const RowGroup& group, std::vector<ListPath>& paths) const {
    const auto found = sections_.find(row);
    if (found == sections_.end()) return;
    const auto most =
        std::ranges::max_element(found->second, {}, [](const auto& each) { return each.second.ns; });
    const double share = static_cast<double>(most->second.ns) / static_cast<double>(group.ns);
    const std::string before =
        most->second.ns == group.ns ? "held until " : round_percent(share) + " of it held until ";
    paths.push_back({before, most->second.context, false, group.whom.locations()});
  }

 private:
  struct Section {
    std::uint64_t ns = 0;
    database::ContextId context = kNone;
  };
  std::map<WaitKey, std::map<std::uint32_t, Section>> sections_;
};

struct GroupedWaits {
  RowGroups<WaitKey> rows;
  CriticalSections sections;
};

/// What falls together in one row.
GroupedWaits group_waits(const database::Contents& experiment, const ListOptions& options) {
  ShownPaths paths(experiment);
  GroupedWaits grouped;
  for (const Wait* const each : listed_of(experiment, options)) {
    const Wait& wait = *each;
    const WaitKey key{serves(experiment, options.serving, wait), wait.pattern, wait.exact,
                      paths.number(wait.context), options.thread_of_row(wait.location)};
    RowGroup& group = grouped.rows[key];
    group.add(wait.location, wait.ns, wait.context);
    group.part_ns += wait.direct_ns ? wait.ns - *wait.direct_ns : 0;
    group.count += wait.count;
    if (wait.cause_location != kNone) group.whom.add(wait.cause_location, wait.ns);
    if (wait.pattern == WaitPattern::lock_wait && wait.cause_context != kNone)
      grouped.sections.add(key, paths.number(wait.cause_context), wait);
  }
  return grouped;
}

}  // namespace

std::uint64_t waiting_ns(const database::Contents& experiment, const ListOptions& options) {
  std::uint64_t sum = 0;
  for (const Wait* const wait : listed_of(experiment, options))
    if (metrics::is_whole_wait(wait->pattern) && !serves(experiment, options.serving, *wait)) sum += wait->ns;
  return sum;
}

std::optional<ThreadWait> longest_wait(const database::Contents& experiment, bool without_startup,
                                       bool unicode) {
  ListOptions options{.by_rank = true};
  if (without_startup) options.left_out = views::mpi_start_up(experiment);
  for (const auto& [key, group] : group_waits(experiment, options).rows.take()) {
    if (!key.exact || !metrics::is_whole_wait(key.pattern) || group.whom.empty()) continue;
    const bool longest = std::ranges::none_of(experiment.waits(), [ns = group.ns](const Wait& wait) {
      return !wait.exact && metrics::is_whole_wait(wait.pattern) && wait.ns > ns;
    });
    return ThreadWait{.ns = group.ns,
                      .count = group.count,
                      .longest = longest,
                      .location = key.location,
                      .context = group.context,
                      .whom = whom_phrase(experiment, group.whom, unicode)};
  }
  return std::nullopt;
}

Table waits_table(const database::Contents& experiment) {
  Table table{{{"pattern"},
               {"location"},
               {"seconds"},
               {"count"},
               {"path"},
               {"cause"},
               {"cause_path"},
               {"exact"},
               {"direct_s"},
               {"indirect_s"}},
              {}};
  for (const Wait& wait : experiment.waits()) {
    Table::Cell cause, cause_path, direct, indirect;
    if (wait.cause_location != database::kNone) cause = Table::Thread{wait.cause_location};
    if (wait.cause_context != database::kNone) cause_path = Table::Path{wait.cause_context};
    if (wait.direct_ns) {
      direct = seconds_of(*wait.direct_ns);
      indirect = seconds_of(wait.ns - *wait.direct_ns);
    }
    table.rows.push_back({std::string(metrics::name_of(wait.pattern)), Table::Thread{wait.location},
                          seconds_of(wait.ns), std::uint64_t{wait.count}, Table::Path{wait.context}, cause,
                          cause_path, wait.exact, direct, indirect});
  }
  return table;
}

List waits_list(const database::Contents& experiment, const ListOptions& options) {
  List list{.command = "waits", .title = "WAITS", .amount = "waited"};
  note_remainder(list, experiment, options);
  if (experiment.waits().empty()) {
    list.introduction = no_listed_waits_phrase(experiment);
    return list;
  }
  list.whole_ns = waiting_ns(experiment, options);
  list.introduction = introduction(experiment, list.whole_ns, options);
  const ListedWaits listed = listed_waits(experiment, options);
  const std::string report = waiting_of_report_phrase(options.waiting, listed, options.unicode);
  if (!report.empty()) list.introduction += ' ' + report;
  GroupedWaits grouped = group_waits(experiment, options);
  auto rows = grouped.rows.take();
  std::stable_partition(rows.begin(), rows.end(), [](const auto& each) { return !each.first.serves; });
  bool lists_serving = false;
  add_rows(list, rows, options, [&](const WaitKey& key, const RowGroup& group) {
    lists_serving = lists_serving || key.serves;
    ListRow row{.ns = group.ns,
                .counted_ns = key.serves || metrics::is_completion(key.pattern) ? 0 : group.ns,
                .name = name_of_row(key),
                .text = text_of_row(experiment, key, group, options),
                .topic = std::string(metrics::name_of(key.pattern)),
                .paths = {{"", group.context, false, group.who.locations()}}};
    grouped.sections.add_to(key, group, row.paths);
    return row;
  });
  if (listed.serving_s > 0)
    list.introduction += " Threads that only wait to be needed wait another " +
                         keep(duration(listed.serving_s, options.unicode)) +
                         (lists_serving ? ", listed last." : ".");
  return list;
}

}  // namespace culprit::viewer
