// Maps of ranks over time, bin by bin: waiting, MPI calls, and in which code each rank was.
#include "findings/coverage.hpp"
#include "findings/phrases.hpp"
#include "findings/segment_picture.hpp"
#include "findings/thread_waits.hpp"
#include "text/call_path_text.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/panes/time_grid.hpp"
#include "tui/widgets/tone.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace culprit::viewer::tui {
namespace {

using database::TimeMap;
using database::Variation;
using Kind = TimeChoice::Kind;

/// Bins of time.
class Bins : public TimeGrid {
 public:
  Bins(const database::Contents& experiment, const TimeMap& map, const TimeChoice& choice)
      : experiment_(experiment), map_(map), choice_(choice) {
    if (choice.kind != Kind::calls && choice.kind != Kind::code) {
      sums_.assign(map.rows.size() * map.bins, 0);
      for (std::size_t row = 0; row < map.rows.size(); ++row) add_waits(row);
    }
    std::vector<std::span<const std::uint64_t>> rows;
    for (std::size_t row = 0; row < map.rows.size(); ++row) {
      rows.push_back(choice.kind == Kind::calls || choice.kind == Kind::code
                         ? std::span(map.rows[row].calls_ns)
                         : std::span<const std::uint64_t>(sums_).subspan(row * map.bins, map.bins));
    }
    set_rows(std::move(rows));
    most_ = map.bin_ns;  // no rank can spend more in a bin than it is long
    for (const auto& row : rows_) total_ = std::accumulate(row.begin(), row.end(), total_);
  }

  [[nodiscard]] std::int32_t rank(std::size_t row) const override { return map_.rows[row].rank; }
  [[nodiscard]] std::string axis() const override { return "time"; }
  [[nodiscard]] std::string column_name(std::size_t column, bool unicode) const override {
    return duration(seconds_of(column * map_.bin_ns), unicode);
  }
  [[nodiscard]] double column_length() const override { return seconds_of(map_.bin_ns); }
  [[nodiscard]] std::string amount_of(double columns, bool unicode) const override {
    return duration(columns * column_length(), unicode);
  }
  [[nodiscard]] std::string further_axis() const override {
    const std::vector<Variation>& levels = experiment_.trace().variations;
    const bool known = std::any_of(map_.rows.begin(), map_.rows.end(),
                                   [](const TimeMap::Row& row) { return !row.iterations.empty(); });
    return known && !levels.empty() ? std::string(segment_name(experiment_, levels.front())) : std::string{};
  }
  [[nodiscard]] std::optional<std::uint64_t> further_at(std::size_t row, std::size_t column) const override {
    if (map_.rows[row].iterations.empty() || map_.rows[row].iterations[column].count == 0)
      return std::nullopt;
    return map_.rows[row].iterations[column].first;
  }
  [[nodiscard]] std::string tick_name(double at, bool unicode) const override {
    return round_duration(at, unicode);
  }
  [[nodiscard]] std::string shade_name(bool most, bool) const override { return most ? "100 %" : "0 %"; }
  [[nodiscard]] std::string title(std::size_t, bool unicode) const override {
    const std::string what = choice_.kind == Kind::waiting   ? "Waiting for other ranks"
                             : choice_.kind == Kind::threads ? "Waiting for other threads of the process"
                             : choice_.kind == Kind::calls   ? "Time in MPI calls"
                                                           : "Waits: " + name_of_choice(experiment_, choice_);
    return what + ", " + duration(seconds_of(total_), unicode) + " in all";
  }
  [[nodiscard]] std::string describe(std::size_t row, std::size_t column, bool unicode) const override {
    const double share = static_cast<double>(at(row, column)) / static_cast<double>(map_.bin_ns);
    std::string text = "at " + column_name(column, unicode) + segments(row, column, unicode) + ": " +
                       round_percent(share) + ' ' + word();
    const database::ContextId where = context(row, column);
    if (where == database::kNone) return text;
    const views::Frame code =
        views::frame_of(experiment_, experiment_.contexts[scope_around(experiment_, where)]);
    return text + ", in " + shorten_name(without_parameters(label(code)), kLongestCode, unicode);
  }
  [[nodiscard]] database::ContextId context(std::size_t row, std::size_t column) const override {
    return map_.rows[row].contexts[column];
  }

 protected:
  [[nodiscard]] const database::Contents& experiment() const { return experiment_; }
  [[nodiscard]] const TimeMap& map() const { return map_; }

 private:
  void add_waits(std::size_t row) {
    for (const TimeMap::Series& series : map_.rows[row].waits) {
      if (!choice_.shows(series.pattern)) continue;
      for (const TimeMap::Cell& cell : series.cells) sums_[row * map_.bins + cell.bin] += cell.ns;
    }
  }
  /// `, iteration 3`: what the rank was in then, of the coarsest level.
  [[nodiscard]] std::string segments(std::size_t row, std::size_t column, bool unicode) const {
    const std::vector<Variation>& levels = experiment_.trace().variations;
    if (map_.rows[row].iterations.empty() || levels.empty()) return {};
    const auto [first, count] = map_.rows[row].iterations[column];
    if (count == 0) return {};
    const std::string text = std::string(", ") + segment_name(experiment_, levels.front());
    if (count == 1) return text + ' ' + std::to_string(first);
    return text + "s " + std::to_string(first) + (unicode ? "–" : "-") +
           std::to_string(std::uint64_t{first} + count - 1);
  }
  [[nodiscard]] std::string word() const {
    if (choice_.kind == Kind::waiting) return "waiting";
    return choice_.kind == Kind::calls ? "in MPI" : name_of_choice(experiment_, choice_);
  }

  const database::Contents& experiment_;
  const TimeMap& map_;
  TimeChoice choice_;
  std::vector<std::uint64_t> sums_;
  std::uint64_t total_ = 0;
};

/// In which procedure or MPI call each rank was, bin by bin.
class Code final : public Bins {
 public:
  Code(const database::Contents& experiment, const TimeMap& map, const TimeChoice& choice)
      : Bins(experiment, map, choice) {
    // There may be a million bins. Behind all contexts: bins in which a rank waited for threads.
    std::vector<std::uint32_t> known(experiment.contexts.size() + 1, kUnknown);
    std::map<std::string, std::uint32_t> numbers;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> bins;  // how many, of which name
    std::vector<std::string> names;
    const auto number_of = [&](database::ContextId context) {
      if (known[context] != kUnknown) return known[context];
      const std::string name = context < experiment.contexts.size() ? code_name(context) : kAwaitsThreads;
      const auto [number, added] = numbers.try_emplace(name, static_cast<std::uint32_t>(names.size()));
      if (added) {
        names.push_back(name);
        bins.emplace_back(0, number->second);
      }
      return known[context] = number->second;
    };
    for (const TimeMap::Row& row : map.rows) thread_waits_.push_back(thread_waits_ns(row, map.bins));
    parts_.resize(map.rows.size());
    for (std::size_t row = 0; row < map.rows.size(); ++row) {
      parts_[row].assign(map.bins, kUnknown);
      for (std::size_t bin = 0; bin < map.bins; ++bin) {
        const database::ContextId context = map.rows[row].contexts[bin];
        const bool awaits = awaits_threads(row, bin);
        if (context == database::kNone && !awaits) continue;
        const auto behind_all = static_cast<database::ContextId>(experiment.contexts.size());
        parts_[row][bin] = number_of(awaits ? behind_all : context);
        ++bins[parts_[row][bin]].first;
      }
    }
    name_parts(bins, names);
  }

  [[nodiscard]] std::vector<std::string> legend() const override { return legend_; }
  [[nodiscard]] std::uint64_t part_of(database::ContextId context) const override {
    const auto found = part_of_name_.find(code_name(context));
    const std::uint64_t others = legend_.size() == kParts ? kParts : 0;
    return found == part_of_name_.end() ? others : found->second + 1;
  }

  [[nodiscard]] std::string code_name(database::ContextId context) const override {
    const bool call = (experiment().contexts[context].flags & database::kFrontier) != 0;
    const database::ContextId procedure = call ? context : procedure_on_map(experiment(), context);
    if (procedure == database::kNone) return "other code";
    return without_parameters(label(views::frame_of(experiment(), experiment().contexts[procedure])));
  }

  [[nodiscard]] std::vector<std::uint64_t> cells(const Part& rows, const Part& columns, std::size_t lines,
                                                 std::size_t wide) const override {
    std::vector<std::uint64_t> cells(lines * wide, 0);
    std::vector<std::uint32_t> counts(legend_.size());
    for (std::size_t line = 0; line < lines; ++line) {
      const std::size_t first = first_of(line, lines, rows.count);
      const std::size_t last = std::max(first_of(line + 1, lines, rows.count), first + 1);
      for (std::size_t cell = 0; cell < wide; ++cell) {
        const std::size_t from = columns.first + first_of(cell, wide, columns.count);
        const std::size_t end = columns.first + first_of(cell + 1, wide, columns.count);
        const std::size_t until = std::min<std::size_t>(std::max(end, from + 1), map().bins);
        std::ranges::fill(counts, 0);
        for (std::size_t row = rows.first + first; row < rows.first + last; ++row) {
          for (std::size_t bin = from; bin < until; ++bin) {
            if (parts_[row][bin] != kUnknown) ++counts[parts_[row][bin]];
          }
        }
        const auto most = std::ranges::max_element(counts);
        if (most != counts.end() && *most > 0)
          cells[line * wide + cell] = static_cast<std::uint64_t>(most - counts.begin()) + 1;
      }
    }
    return cells;
  }

  [[nodiscard]] bool is_critical(std::size_t row, std::size_t first, std::size_t last) const override {
    const std::vector<TimeMap::Cell>& cells = map().rows[row].critical;
    const auto found =
        std::ranges::lower_bound(cells, static_cast<std::uint32_t>(first), {}, &TimeMap::Cell::bin);
    return found != cells.end() && found->bin < last;
  }

  [[nodiscard]] std::string title(std::size_t, bool) const override {
    return of_lines(experiment(), "Where each rank spent most of its time");
  }
  [[nodiscard]] std::string describe(std::size_t row, std::size_t column, bool unicode) const override {
    const database::ContextId where = context(row, column);
    const std::string at = "at " + column_name(column, unicode) + ": ";
    if (awaits_threads(row, column)) return at + kAwaitsThreads;
    return where == database::kNone ? at + "not sampled"
                                    : at + shorten_name(code_name(where), kLongestCode, unicode);
  }

 private:
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
  static constexpr const char* kAwaitsThreads = "waiting for threads";

  /// Most of the bin, whatever code its samples are in.
  [[nodiscard]] bool awaits_threads(std::size_t row, std::size_t bin) const {
    return !thread_waits_[row].empty() && 2 * thread_waits_[row][bin] > map().bin_ns;
  }

  /// Those with most bins get parts of their own, the others the last one together.
  void name_parts(std::vector<std::pair<std::uint64_t, std::uint32_t>> bins,
                  const std::vector<std::string>& names) {
    std::ranges::stable_sort(bins, std::ranges::greater(), &std::pair<std::uint64_t, std::uint32_t>::first);
    constexpr std::size_t kOwn = kParts - 1;
    std::vector<std::uint32_t> part_of(names.size(), kOwn);
    for (std::size_t i = 0; i < std::min(bins.size(), kOwn); ++i) {
      part_of[bins[i].second] = static_cast<std::uint32_t>(i);
      legend_.push_back(names[bins[i].second]);
    }
    if (names.size() == kParts) {
      part_of[bins[kOwn].second] = kOwn;
      legend_.push_back(names[bins[kOwn].second]);
    } else if (names.size() > kParts) {
      legend_.emplace_back("other code");
    }
    for (std::size_t name = 0; name < names.size(); ++name) part_of_name_[names[name]] = part_of[name];
    for (std::vector<std::uint32_t>& row : parts_) {
      for (std::uint32_t& part : row) {
        if (part != kUnknown) part = part_of[part];
      }
    }
  }

  std::vector<std::vector<std::uint64_t>> thread_waits_;  ///< by row and bin
  std::vector<std::vector<std::uint32_t>> parts_;         ///< likewise
  std::vector<std::string> legend_;
  std::map<std::string, std::uint32_t> part_of_name_;  ///< its index in legend_
};

}  // namespace

std::unique_ptr<TimeGrid> make_bins_grid(const database::Contents& experiment, const TimeChoice& choice) {
  const TimeMap& map = experiment.trace().time_map;
  if (choice.kind == Kind::code) return std::make_unique<Code>(experiment, map, choice);
  return std::make_unique<Bins>(experiment, map, choice);
}

}  // namespace culprit::viewer::tui
