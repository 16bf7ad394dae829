#include "commands/list.hpp"
#include "commands/variation.hpp"
#include "findings/coverage.hpp"
#include "findings/diagnosis.hpp"
#include "findings/phrases.hpp"
#include "findings/segment_picture.hpp"
#include "text/call_path_text.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "text/table.hpp"
#include "views/frame.hpp"
#include "views/joining.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace culprit::viewer {
namespace {

using database::Variation;

constexpr std::size_t kHighShown = 10;

std::string amount(const SegmentMetric& metric, std::uint64_t raw, bool unicode) {
  if (metric.unit == "s") return duration(metric.value(raw), unicode);
  return grouped(metric.value(raw)) + (metric.unit == "count" ? "" : " " + metric.unit);
}

std::string write_correlation(const SegmentMetric& metric) {
  return metric.correlation ? fmt::format("{:.2f}", *metric.correlation) : "-";
}

/// `4 100 (340 times)`: of the segments that took long.
std::string of_long(const SegmentMetric& metric, bool unicode) {
  if (!metric.median_of_long) return "-";
  std::string text = amount(metric, *metric.median_of_long, unicode);
  if (metric.median == 0) return text;
  const double times = static_cast<double>(*metric.median_of_long) / static_cast<double>(metric.median);
  return text + " (" + grouped(times, times < 9.95 ? 1 : 0) + " times)";
}

}  // namespace

std::string name_segments(const database::Contents& experiment, const Variation& variation) {
  const std::string inferred = lines_are_threads(experiment) ? ", recognised by their sequence of waits"
                                                             : ", recognised by their sequence of MPI calls";
  if (is_loop(experiment, variation))
    return "Iterations of " + scope_phrase(experiment, variation.context, true, kWholeName, true) + inferred;
  if (variation.marked) return "Iterations that the program marked";
  const views::Frame frame = views::frame_of(experiment, experiment.contexts[variation.context]);
  const bool procedure = frame.kind == database::ContextKind::procedure;
  std::string name =
      procedure ? procedure_name(experiment, variation.context, kWholeName, true) : label(frame);
  const bool of_library = views::is_library(frame) || views::is_named_for_module(frame);
  const database::ContextId user =
      of_library ? chosen_around(experiment, variation.context) : database::kNone;
  if (user != database::kNone) {
    const views::Frame around = views::frame_of(experiment, experiment.contexts[user]);
    if (!views::is_named_for_module(around))
      name += " in " + procedure_name(experiment, user, kWholeName, true);
  }
  const std::string what = segment_name(experiment, variation) + std::string("s ") +
                           segment_preposition(experiment, variation) + ' ';
  return capitalized(what) + name + (variation.stamped ? ", each with time stamps of its own" : inferred);
}

std::string name_segment(const database::Contents& experiment, const Variation& variation, std::int32_t rank,
                         std::uint32_t segment) {
  std::string name = std::string(segment_name(experiment, variation)) + ' ' + std::to_string(segment);
  if (line_up(variation)) return name;
  const auto row = std::ranges::find(variation.rows, rank, &Variation::Row::rank);
  if (row == variation.rows.end()) return name;
  const std::optional<double> begin = begin_s(experiment, *row, segment);
  // Its number says nothing to the other ranks.
  return begin ? name + fmt::format(" (at {:.3f} s)", *begin) : name;
}

void write_metrics_of_segments(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                               const Variation& variation) {
  const std::vector<SegmentMetric> metrics = segment_metrics(experiment, variation);
  if (metrics.empty()) return;
  std::size_t name = 0;
  for (const SegmentMetric& metric : metrics) name = std::max(name, metric.name.size());
  out << "\nWhat else was counted in them, outside MPI (--metric NAME shows where):\n"
      << screen.dim(fmt::format("  {:{}}  {:>10}  {:>24}  {}", "", name, "median", "of those far longer",
                                "correlation with time"))
      << '\n';
  for (const SegmentMetric& metric : metrics) {
    out << fmt::format("  {:{}}  {:>10}  {:>24}  {:>6}", metric.name, name,
                       amount(metric, metric.median, screen.unicode), of_long(metric, screen.unicode),
                       write_correlation(metric))
        << '\n';
  }
}

void write_metric_over_segments(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                                const Variation& variation, const SegmentMetric& metric) {
  if (variation.rows.empty()) return;
  const auto say = [&](std::uint64_t raw) { return amount(metric, raw, screen.unicode); };
  out << wrap(name_segments(experiment, variation) + ": " + keep(metric.name) +
                  " outside MPI; the median is " + keep(say(metric.median)) +
                  ", the correlation with their time " + keep(write_correlation(metric)) + ".",
              screen.width)
      << "\n\n";
  SegmentRows values;
  values.reserve(variation.rows.size());
  for (const Variation::Row& row : variation.rows) {
    if (row.values.empty()) {
      values.emplace_back();
    } else {
      values.emplace_back(row.values[metric.index]);
    }
  }
  draw_segments(out, screen, experiment, variation, {values, metric.median, say});
  const std::vector<HighSegment> high = high_segments(variation, metric);
  if (high.empty()) {
    out << "\nNone has far more than the median.\n";
    return;
  }
  std::set<std::pair<std::int32_t, std::uint32_t>> took_long;
  for (const Variation::Outlier& one : variation.outliers) took_long.emplace(one.rank, one.segment);
  out << "\nFar above the median (" << counted(high.size(), segment_name(experiment, variation)) << "):\n";
  const std::size_t width = say(high.front().value).size();
  for (std::size_t i = 0; i < std::min(high.size(), kHighShown); ++i) {
    const HighSegment& one = high[i];
    out << fmt::format("{:>{}}  ", say(one.value), width) << screen.bold("rank " + std::to_string(one.rank))
        << ", " << name_segment(experiment, variation, one.rank, one.segment)
        << (took_long.contains({one.rank, one.segment}) ? ", which took far longer than the median" : "")
        << '\n';
    if (one.context != database::kNone)
      write_list_path(out, screen, experiment, {"mostly in ", scope_around(experiment, one.context)});
  }
  if (high.size() > kHighShown)
    out << screen.dim("and " + std::to_string(high.size() - kHighShown) + " more (--format csv or json)")
        << '\n';
}

Json metrics_json(const database::Contents& experiment, const Variation& variation) {
  Table table{{{"metric"}, {"unit"}, {"median"}, {"median_of_outliers"}, {"correlation"}}, {}};
  for (const SegmentMetric& metric : segment_metrics(experiment, variation)) {
    Table::Cell of_long;
    if (metric.median_of_long) of_long = metric.value(*metric.median_of_long);
    table.rows.push_back(
        {metric.name, metric.unit, metric.value(metric.median), of_long, Table::cell(metric.correlation)});
  }
  return to_json(experiment, table);
}

void add_metric(Json& json, const database::Contents& experiment, const Variation& variation,
                const SegmentMetric& metric) {
  Json rows = Json::array();
  for (const Variation::Row& row : variation.rows) {
    Json values = Json::array();
    for (std::size_t i = 0; i < row.sos_ns.size(); ++i)
      values.push_back(metric.value(row.values[metric.index][i]));
    rows.push_back(std::move(values));
  }
  Table high{{{"rank"}, {"iteration"}, {"value"}, {"median"}, {"path"}}, {}};
  for (const HighSegment& one : high_segments(variation, metric)) {
    high.rows.push_back({std::int64_t{one.rank}, std::uint64_t{one.segment}, metric.value(one.value),
                         metric.value(metric.median), Table::Path{one.context}});
  }
  json["metric"] = metric.name;
  json["unit"] = metric.unit;
  json["values"] = std::move(rows);
  json["metric_outliers"] = to_json(experiment, high);
}

}  // namespace culprit::viewer
