#include "commands/variation.hpp"

#include "database/procedure_name.hpp"
#include "findings/coverage.hpp"
#include "findings/long_segments.hpp"
#include "findings/phrases.hpp"
#include "findings/segment_metrics.hpp"
#include "findings/segment_picture.hpp"
#include "findings/thread_waits.hpp"
#include "print/text.hpp"
#include "request/command_line.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::Variation;

/// The thread that took long in an outlier; empty where older writers do not say, and where there is none.
Table::Cell thread_cell(const database::Contents& experiment, const Variation::Outlier* outlier) {
  if (outlier == nullptr || outlier->location == database::kNone) return {};
  return std::uint64_t{experiment.locations[outlier->location].thread};
}

Table outliers_table(const database::Contents& experiment, const Variation& variation) {
  Table table{{{"rank"}, {"thread"}, {"iteration"}, {"sos_s"}, {"median_s"}, {"path"}}, {}};
  for (const Variation::Outlier& one : variation.outliers) {
    table.rows.push_back({std::int64_t{one.rank}, thread_cell(experiment, &one), std::uint64_t{one.segment},
                          seconds_of(one.sos_ns), seconds_of(variation.median_ns), Table::Path{one.context}});
  }
  return table;
}

/// When each segment began, by row, since the first call of any rank; empty where older writers do not say.
Json begins_json(const database::Contents& experiment, const Variation& variation) {
  Json rows = Json::array();
  for (const Variation::Row& row : variation.rows) {
    Json begins = Json::array();
    for (std::size_t i = 0; i < row.begin_ns.size(); ++i) begins.push_back(*begin_s(experiment, row, i));
    rows.push_back(std::move(begins));
  }
  return rows;
}

/// What each row's main thread waited for other threads in all, by row.
Json thread_waits_json(const database::TimeMap& map, const Variation& variation) {
  std::map<std::int32_t, double> waited_s;
  for (const database::TimeMap::Row& row : map.rows) {
    for (const std::uint64_t ns : thread_waits_ns(row, map.bins)) waited_s[row.rank] += seconds_of(ns);
  }
  Json rows = Json::array();
  for (const Variation::Row& row : variation.rows) rows.push_back(waited_s[row.rank]);
  return rows;
}

/// ` Main threads wait for other threads of their processes 3.2 s in all, which is left out as MPI is.`
std::string thread_waits_phrase(const database::Contents& experiment, bool unicode) {
  const std::uint64_t ns = thread_waits_ns(experiment.trace().time_map);
  if (ns == 0 || lines_are_threads(experiment)) return {};
  return " Main threads wait for other threads of their processes " +
         keep(duration(seconds_of(ns), unicode)) + " in all, which is left out as MPI is.";
}

/// `iteration 38`, `iteration 38, the longest on rank 6`, or of a rank `392 of 400 iterations, the longest
/// iteration 17`; of a worker `iteration 17 on rank 6 thread 3`.
std::string long_segments_phrase(const database::Contents& experiment, const Variation& variation,
                                 const LongSegments& segments) {
  std::string name = name_segment(experiment, variation, segments.longest->rank, segments.longest->segment);
  const std::string line = outlier_phrase(experiment, *segments.longest);
  if (segments.ranks.size() > 1) return name + ", the longest on " + line;
  if (segments.count == 1) return name;
  if (line != of_lines(experiment, ranks_phrase(segments.ranks))) name += " on " + line;
  return grouped(static_cast<double>(segments.count)) + " of " +
         counted(segments.of, segment_name(experiment, variation)) + ", the longest " + name;
}

}  // namespace

List outliers_list(const database::Contents& experiment, const Variation& variation,
                   const ListOptions& options, std::uint32_t level) {
  List list{.command = "variation"};
  const std::string long_ones = counted(variation.outliers.size(), segment_name(experiment, variation));
  list.introduction = variation.outliers.empty()
                          ? "None took far longer than the median."
                          : capitalized(longer_phrase(variation)) + " the median" +
                                (are_exceptions(variation) ? "" : ", which is nothing exceptional here") +
                                " (" + long_ones + "):";
  const auto ns_of = [](const LongSegments& each) { return each.longest->sos_ns; };
  add_rows(list, long_segments(variation), options, ns_of, [&](const LongSegments& each) {
    const Variation::Outlier& one = *each.longest;
    ListRow row{
        .ns = one.sos_ns,
        .name = (each.ranks.size() == 1 && each.count == 1 ? outlier_phrase(experiment, one)
                                                           : of_lines(experiment, ranks_phrase(each.ranks))) +
                ", " + long_segments_phrase(experiment, variation, each),
        .segment = ListSegment{one.rank, one.segment, level}};
    if (one.context != database::kNone)
      row.paths.push_back({"mostly in ", scope_around(experiment, one.context)});
    return row;
  });
  return list;
}

const Variation& variation_of(const database::Contents& experiment, std::uint32_t finer) {
  static const Variation nothing;
  const std::vector<Variation>& all = experiment.trace().variations;
  const auto levels = static_cast<std::size_t>(std::ranges::count(all, false, &Variation::chosen));
  if (levels == 0) return all.empty() ? nothing : all.front();
  if (finer < levels) return all[finer];
  throw UsageError("--finer: there " + std::string(levels == 2 ? "is " : "are ") +
                   (levels == 1 ? "no finer levels (leave it out)"
                                : counted(levels - 1, "finer level") + " (give a smaller number)"));
}

const Variation& variation_of(const database::Contents& experiment, const std::string& procedure) {
  std::string names;
  for (const Variation& one : experiment.trace().variations) {
    if (one.marked || one.context == database::kNone) continue;
    const std::string name(experiment.strings[experiment.contexts[one.context].name]);
    if (database::is_called(name, procedure)) return one;
    names += (names.empty() ? "" : ", ") + without_parameters(name);
  }
  throw UsageError("--procedure: " + procedure +
                   ": this database does not have its invocations (prof-mpi --segment " +
                   print::shell_word(procedure) + " adds them" +
                   (names.empty() ? "" : "; it has those of " + names) + ")");
}

Json variation_json(const database::Contents& experiment, const Variation& variation,
                    const std::string& metric) {
  Json rows = Json::array();
  Json ranks = Json::array();
  for (const Variation::Row& row : variation.rows) {
    Json sos = Json::array();
    for (const std::uint64_t ns : row.sos_ns) sos.push_back(seconds_of(ns));
    rows.push_back(std::move(sos));
    ranks.push_back(row.rank);
  }
  Json json = {{"segment", variation.marked || is_loop(experiment, variation) ? "iteration" : "procedure"},
               {"path", variation.context == database::kNone ? Json::array()
                                                             : path_json(experiment, variation.context)},
               {"invocations", variation.marked || variation.stamped ? "marked" : "inferred"},
               {"median_s", seconds_of(variation.median_ns)},
               {"ranks", std::move(ranks)},
               {"sos_s", std::move(rows)},
               {"lined_up", line_up(variation)},
               {"outliers", to_json(experiment, outliers_table(experiment, variation))}};
  json["begin_s"] = begins_json(experiment, variation);
  if (thread_waits_ns(experiment.trace().time_map) != 0 && !lines_are_threads(experiment))
    json["thread_waits_s"] = thread_waits_json(experiment.trace().time_map, variation);
  if (!experiment.trace().metrics.empty()) json["metrics"] = metrics_json(experiment, variation);
  if (!metric.empty()) add_metric(json, experiment, variation, segment_metric(experiment, variation, metric));
  return json;
}

void write_variation(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                     const Variation& variation, const std::string& metric) {
  if (variation.rows.empty()) {
    out << wrap(
               "No procedure was seen to be called again and again: mark iterations with "
               "culprit_iteration(n) "
               "(culprit.h).",
               screen.width)
        << '\n';
    return;
  }
  if (!metric.empty()) {
    write_metric_over_segments(out, screen, experiment, variation,
                               segment_metric(experiment, variation, metric));
    return;
  }
  const std::string cut = cut_time_lines_phrase(experiment);
  const bool threads = lines_are_threads(experiment);
  out << wrap(name_segments(experiment, variation) + "; the median takes " +
                  keep(duration(seconds_of(variation.median_ns), screen.unicode)) +
                  (threads ? " without waits." : " outside MPI.") +
                  thread_waits_phrase(experiment, screen.unicode) + (cut.empty() ? cut : ' ' + cut),
              screen.width)
      << "\n\n";
  draw_segments(out, screen, experiment, variation,
                {sos_times(variation), variation.median_ns, [&](std::uint64_t ns) {
                   return duration(seconds_of(ns), screen.unicode) +
                          (threads ? " without waits" : " without MPI");
                 }});
  constexpr std::size_t kOutliersShown = 10;
  out << '\n';
  write_list(out, screen, experiment, outliers_list(experiment, variation, {.most = kOutliersShown}));
  write_metrics_of_segments(out, screen, experiment, variation);
}

/// `thread` is the one that took long in a segment that took unusually long, `path` where it spent most of
/// its time; behind each metric is the path where most was counted of a segment that has unusually much of
/// it, as in JSON.
Table segments_table(const database::Contents& experiment, const Variation& variation) {
  using Paths = std::map<std::pair<std::int32_t, std::uint32_t>, database::ContextId>;
  const auto path_of = [](const Paths& paths, std::int32_t rank, std::uint32_t segment) {
    const auto found = paths.find({rank, segment});
    return Table::Path{found == paths.end() ? database::kNone : found->second};
  };
  std::map<std::pair<std::int32_t, std::uint32_t>, const Variation::Outlier*> outliers;
  for (const Variation::Outlier& one : variation.outliers) outliers[{one.rank, one.segment}] = &one;
  const std::vector<SegmentMetric> metrics = segment_metrics(experiment, variation);
  std::vector<Paths> high(metrics.size());
  Table table{{{"rank"}, {"iteration"}, {"begin_s"}, {"sos_s"}, {"outlier"}, {"thread"}, {"path"}}, {}};
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    table.columns.push_back({metrics[i].name});
    table.columns.push_back({metrics[i].name + " path"});
    for (const HighSegment& one : high_segments(variation, metrics[i]))
      high[i][{one.rank, one.segment}] = one.context;
  }
  for (const Variation::Row& row : variation.rows) {
    for (std::uint32_t i = 0; i < row.sos_ns.size(); ++i) {
      const auto found = outliers.find({row.rank, i});
      const Variation::Outlier* const outlier = found == outliers.end() ? nullptr : found->second;
      std::vector<Table::Cell>& cells = table.rows.emplace_back(std::vector<Table::Cell>{
          std::int64_t{row.rank}, std::uint64_t{i}, Table::cell(begin_s(experiment, row, i)),
          seconds_of(row.sos_ns[i]), outlier != nullptr, thread_cell(experiment, outlier),
          Table::Path{outlier == nullptr ? database::kNone : outlier->context}});
      for (std::size_t metric = 0; metric < metrics.size(); ++metric) {
        cells.emplace_back(metrics[metric].value(row.values[metrics[metric].index][i]));
        cells.emplace_back(path_of(high[metric], row.rank, i));
      }
    }
  }
  return table;
}

}  // namespace culprit::viewer
