#include "tui/panes/time_grid.hpp"

#include "findings/coverage.hpp"
#include "findings/segment_metrics.hpp"
#include "findings/segment_picture.hpp"
#include "findings/thread_waits.hpp"
#include "text/quantity.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace culprit::viewer::tui {

using database::TimeMap;
using database::Variation;
using database::WaitPattern;
using Kind = TimeChoice::Kind;

std::string TimeGrid::tick_name(double at, bool) const {
  return std::to_string(std::llround(at));
}

std::string TimeGrid::further_name(double number, bool) const {
  return grouped(number);
}

std::string round_duration(double seconds, bool unicode) {
  std::string text = duration(seconds, unicode);
  const std::size_t unit = text.rfind(' ');
  if (text.find('.') >= unit) return text;
  std::size_t end = text.find_last_not_of('0', unit - 1) + 1;
  if (text[end - 1] == '.') --end;
  return text.erase(end, unit - end);
}

void TimeGrid::set_rows(std::vector<std::span<const std::uint64_t>> rows) {
  rows_ = std::move(rows);
  for (const auto& row : rows_) {
    columns_ = std::max(columns_, row.size());
    for (const std::uint64_t ns : row) most_ = std::max(most_, ns);
  }
}

std::vector<std::uint64_t> TimeGrid::means(const Part& rows, const Part& columns, std::size_t lines,
                                           std::size_t wide) const {
  std::vector<std::uint64_t> cells(lines * wide, 0);
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t first = first_of(line, lines, rows.count);
    const std::size_t last = std::max(first_of(line + 1, lines, rows.count), first + 1);
    const std::span<std::uint64_t> into = std::span(cells).subspan(line * wide, wide);
    for (std::size_t row = rows.first + first; row < rows.first + last; ++row) {
      const std::span<const std::uint64_t> values = rows_[row];
      for (std::size_t cell = 0; cell < wide; ++cell) {
        const std::size_t from = columns.first + first_of(cell, wide, columns.count);
        const std::size_t end = columns.first + first_of(cell + 1, wide, columns.count);
        const std::size_t until = std::min(std::max(end, from + 1), values.size());
        if (from >= until) continue;
        double sum = 0;
        for (std::size_t column = from; column < until; ++column) sum += static_cast<double>(values[column]);
        // What is there at all is seen.
        const double mean = std::ceil(sum / static_cast<double>(until - from));
        into[cell] = std::max(into[cell], static_cast<std::uint64_t>(mean));
      }
    }
  }
  return cells;
}

std::string name_of_choice(const database::Contents& experiment, const TimeChoice& choice) {
  const std::vector<Variation>& levels = experiment.trace().variations;
  std::string segments =
      levels.empty() ? "iterations" : std::string(segment_name(experiment, levels.front())) + 's';
  switch (choice.kind) {
    case Kind::iterations:
      return segments;
    case Kind::above_median:
      return segments + " above the median";
    case Kind::metric:
      return experiment.metrics[experiment.trace().metrics[choice.metric]].name + " in " + segments;
    case Kind::waiting:
      return "waiting";
    case Kind::threads:
      return "waiting for threads";
    case Kind::calls:
      return "in MPI calls";
    case Kind::code:
      return "code";
    case Kind::pattern:
      return std::string(metrics::name_of(choice.pattern));
  }
  return {};
}

std::optional<std::uint64_t> total_of(const database::TraceAnalyses& trace, const TimeChoice& choice) {
  if (choice.of_iterations() || choice.kind == Kind::code) return std::nullopt;
  std::uint64_t sum = 0;
  for (const TimeMap::Row& row : trace.time_map.rows) {
    if (choice.kind == Kind::calls) {
      for (const std::uint64_t ns : row.calls_ns) sum += ns;
    }
    for (const TimeMap::Series& series : row.waits) {
      if (!choice.shows(series.pattern)) continue;
      for (const TimeMap::Cell& cell : series.cells) sum += cell.ns;
    }
  }
  return sum;
}

std::vector<TimeChoice> time_choices(const database::Contents& experiment) {
  const database::TraceAnalyses& trace = experiment.trace();
  std::vector<TimeChoice> choices;
  if (!trace.variations.empty() && !trace.variations.front().rows.empty())
    choices = {{Kind::iterations, {}}, {Kind::above_median, {}}};
  for (std::uint32_t metric = 0; !choices.empty() && metric < trace.metrics.size(); ++metric)
    choices.push_back({.kind = Kind::metric, .pattern = {}, .metric = metric});
  if (trace.time_map.rows.empty()) return choices;
  const bool of_ranks = !lines_are_threads(experiment);
  if (of_ranks) choices.push_back({Kind::waiting, {}});
  if (thread_waits_ns(trace.time_map) != 0) choices.push_back({Kind::threads, {}});
  if (of_ranks) choices.push_back({Kind::calls, {}});
  choices.push_back({Kind::code, {}});
  std::map<WaitPattern, std::uint64_t> sums;
  for (const TimeMap::Row& row : trace.time_map.rows) {
    for (const TimeMap::Series& series : row.waits) {
      for (const TimeMap::Cell& cell : series.cells) sums[series.pattern] += cell.ns;
    }
  }
  std::vector<std::pair<WaitPattern, std::uint64_t>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [pattern, ns] : sorted) choices.push_back({Kind::pattern, pattern});
  return choices;
}

std::unique_ptr<TimeGrid> make_time_grid(const database::Contents& experiment, const TimeChoice& choice,
                                         std::size_t finer) {
  return choice.of_iterations() ? make_segments_grid(experiment, choice, finer)
                                : make_bins_grid(experiment, choice);
}

}  // namespace culprit::viewer::tui
