// Makes the maps of ranks over time as coarse as the page needs: a cell is the mean over its columns, since
// these follow one another, but the largest over its ranks, since a mean would hide a single one. Code is the
// procedure or MPI call with most bins in the cell; the eleven most frequent have colours of their own.
#include "commands/html/time_maps.hpp"

#include "commands/variation.hpp"
#include "findings/long_segments.hpp"
#include "findings/phrases.hpp"
#include "findings/segment_picture.hpp"
#include "findings/thread_waits.hpp"
#include "metrics/wait_pattern.hpp"
#include "text/call_path_text.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "views/frame.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace culprit::viewer {
namespace {

using database::TimeMap;
using database::Variation;

constexpr std::size_t kPatterns = 4, kLevels = 2, kOutliers = 40;
constexpr std::size_t kParts = 11;  // of code, one more for all others

/// How a map is made coarser.
struct Grid {
  std::size_t rows = 0, columns = 0;  ///< of the map
  std::size_t lines = 0, wide = 0;    ///< of what the page has

  Grid(std::size_t map_rows, std::size_t map_columns, std::size_t most_lines, std::size_t most_wide)
      : rows(map_rows),
        columns(map_columns),
        lines(std::min(map_rows, most_lines)),
        wide(std::min(map_columns, most_wide)) {}

  [[nodiscard]] std::size_t first_row(std::size_t line) const { return line * rows / lines; }
  [[nodiscard]] std::size_t line_of(std::size_t row) const { return ((row + 1) * lines - 1) / rows; }
  [[nodiscard]] std::size_t cell_of(std::size_t column) const { return ((column + 1) * wide - 1) / columns; }

  /// The cells of a map whose rows `fill` writes, one at a time.
  template <class Fill>
  [[nodiscard]] std::vector<double> cells(Fill fill) const {
    std::vector<double> made(lines * wide, 0), sums(wide);
    std::vector<std::size_t> counts(wide);
    std::vector<double> values;
    for (std::size_t row = 0; row < rows; ++row) {
      values.assign(columns, 0);
      const std::size_t known = fill(row, values);
      std::ranges::fill(sums, 0);
      std::ranges::fill(counts, 0);
      for (std::size_t column = 0; column < known; ++column) {
        sums[cell_of(column)] += values[column];
        ++counts[cell_of(column)];
      }
      for (std::size_t cell = 0; cell < wide; ++cell) {
        double& into = made[line_of(row) * wide + cell];
        if (counts[cell] > 0) into = std::max(into, sums[cell] / static_cast<double>(counts[cell]));
      }
    }
    return made;
  }

  /// `{"lines","wide","columns","first_rank":[of each line, and one behind]}`.
  template <class Row>
  [[nodiscard]] Json to_json(const std::vector<Row>& of_ranks) const {
    Json first = Json::array();
    for (std::size_t line = 0; line < lines; ++line) first.push_back(of_ranks[first_row(line)].rank);
    return {{"lines", lines},
            {"wide", wide},
            {"columns", columns},
            {"last_rank", of_ranks.back().rank},
            {"first_rank", std::move(first)}};
  }
};

/// Shares of bins, in cells.
Json share_map(const Grid& grid, const std::string& title, const std::string& meaning,
               const std::vector<double>& shares) {
  Json json = {{"kind", "share"}, {"title", title}, {"meaning", meaning}};
  std::vector<double> with_full = shares;
  for (double& share : with_full) share = std::min(share, 1.0);
  json.update(scaled_values(with_full, 8));
  json["wide"] = grid.wide;
  return json;
}

class Maps {
 public:
  Maps(const database::Contents& experiment, const PageTree& calls, PageTexts& texts, std::size_t lines,
       std::size_t wide)
      : experiment_(experiment),
        map_(experiment.trace().time_map),
        calls_(calls),
        texts_(texts),
        grid_(map_.rows.size(), map_.bins, lines, wide) {
    for (const TimeMap::Row& row : map_.rows) thread_waits_.push_back(thread_waits_ns(row, map_.bins));
  }

  Json make() const {
    Json json = grid_.to_json(map_.rows);
    json["bin_s"] = seconds_of(map_.bin_ns);
    Json maps = Json::array();
    maps.push_back(share_map(grid_, "waiting", "The share of each moment spent waiting for other ranks.",
                             waits([](auto pattern) {
                               return metrics::is_whole_wait(pattern) && !metrics::is_of_threads(pattern);
                             })));
    maps.push_back(code());
    if (thread_waits_ns(map_) != 0) {
      maps.push_back(
          share_map(grid_, "waiting for threads",
                    "The share of each moment in which the main thread waited, outside of MPI, for "
                    "other threads of its process.",
                    waits([](auto pattern) { return metrics::is_of_threads(pattern); })));
    }
    maps.push_back(
        share_map(grid_, "in MPI calls", "The share spent in MPI calls, waiting or not.", in_mpi()));
    for (const database::WaitPattern wanted : patterns()) {
      maps.push_back(share_map(grid_, std::string(metrics::name_of(wanted)),
                               std::string(metrics::text_of(wanted).meaning),
                               waits([&](auto pattern) { return pattern == wanted; })));
    }
    json["maps"] = std::move(maps);
    json["critical"] = critical();
    return json;
  }

 private:
  static constexpr database::ContextId kAwaitsThreads = database::kNone - 1;  // no experiment has this many

  template <class Wanted>
  [[nodiscard]] std::vector<double> waits(Wanted wanted) const {
    return grid_.cells([&](std::size_t row, std::vector<double>& values) {
      for (const TimeMap::Series& series : map_.rows[row].waits) {
        if (!wanted(series.pattern)) continue;
        for (const TimeMap::Cell& cell : series.cells) values[cell.bin] += share_of_bin(cell.ns);
      }
      return values.size();
    });
  }
  [[nodiscard]] std::vector<double> in_mpi() const {
    return grid_.cells([&](std::size_t row, std::vector<double>& values) {
      std::ranges::transform(map_.rows[row].calls_ns, values.begin(),
                             [&](std::uint64_t ns) { return share_of_bin(ns); });
      return values.size();
    });
  }
  [[nodiscard]] double share_of_bin(std::uint64_t ns) const {
    return map_.bin_ns == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(map_.bin_ns);
  }

  /// Those with most waiting.
  [[nodiscard]] std::vector<database::WaitPattern> patterns() const {
    std::map<database::WaitPattern, double> sums;
    for (const TimeMap::Row& row : map_.rows) {
      for (const TimeMap::Series& series : row.waits) {
        for (const TimeMap::Cell& cell : series.cells) sums[series.pattern] += static_cast<double>(cell.ns);
      }
    }
    std::vector<std::pair<double, database::WaitPattern>> sorted;
    sorted.reserve(sums.size());
    for (const auto& [pattern, sum] : sums) sorted.emplace_back(sum, pattern);
    std::ranges::stable_sort(sorted, std::ranges::greater(), [](const auto& each) { return each.first; });
    std::vector<database::WaitPattern> most;
    for (std::size_t i = 0; i < std::min(kPatterns, sorted.size()); ++i) most.push_back(sorted[i].second);
    return most;
  }

  /// Where a critical path leads through, a bit for each cell.
  [[nodiscard]] std::string critical() const {
    std::vector<std::uint8_t> bits((grid_.lines * grid_.wide + 7) / 8, 0);
    for (std::size_t row = 0; row < map_.rows.size(); ++row) {
      for (const TimeMap::Cell& cell : map_.rows[row].critical) {
        const std::size_t at = grid_.line_of(row) * grid_.wide + grid_.cell_of(cell.bin);
        bits[at / 8] = static_cast<std::uint8_t>(bits[at / 8] | 1U << at % 8);
      }
    }
    return base64(bits);
  }

  // -- code ---------------------------------------------------------------------------------------------

  /// Where a rank spent most of a bin: a context, or behind all of them that it waited for other threads.
  [[nodiscard]] database::ContextId spent_in(std::size_t row, std::size_t bin) const {
    const bool awaits = !thread_waits_[row].empty() && 2 * thread_waits_[row][bin] > map_.bin_ns;
    return awaits ? kAwaitsThreads : map_.rows[row].contexts[bin];
  }
  /// The MPI call, or the procedure of the user around a context; kNone: other code.
  [[nodiscard]] database::ContextId procedure_at(database::ContextId context) const {
    const bool code = context != kAwaitsThreads;
    if (!code || (experiment_.contexts[context].flags & database::kFrontier) != 0) return context;
    return procedure_on_map(experiment_, context);
  }
  [[nodiscard]] std::string name_at(database::ContextId procedure) const {
    if (procedure == database::kNone) return "other code";
    if (procedure == kAwaitsThreads) return "waiting for threads";
    return without_parameters(label(views::frame_of(experiment_, experiment_.contexts[procedure])));
  }

  struct Code {
    std::string name;
    database::ContextId context = database::kNone;  ///< the first
    std::uint64_t bins = 0;
  };

  /// By context; only what bins name.
  [[nodiscard]] std::map<database::ContextId, std::uint32_t> number_code(std::vector<Code>& codes) const {
    std::map<database::ContextId, std::uint32_t> number_of;
    std::map<std::string, std::uint32_t> by_name;
    for (std::size_t row = 0; row < map_.rows.size(); ++row) {
      for (std::size_t bin = 0; bin < map_.bins; ++bin) {
        const database::ContextId context = spent_in(row, bin);
        if (context == database::kNone) continue;
        auto [known, added] = number_of.try_emplace(context, 0);
        if (added) {
          const database::ContextId procedure = procedure_at(context);
          const auto [name, fresh] =
              by_name.try_emplace(name_at(procedure), static_cast<std::uint32_t>(codes.size()));
          if (fresh) codes.push_back({name->first, procedure == database::kNone ? context : procedure, 0});
          known->second = name->second;
        }
        ++codes[known->second].bins;
      }
    }
    return number_of;
  }

  [[nodiscard]] Json code() const {
    std::vector<Code> codes;
    const std::map<database::ContextId, std::uint32_t> number_of = number_code(codes);
    std::vector<std::uint32_t> order(codes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::ranges::greater(), [&](auto each) { return codes[each].bins; });
    std::vector<std::uint32_t> part_of(codes.size(), kParts);
    Json legend = Json::array();
    for (std::uint32_t i = 0; i < std::min(kParts, order.size()); ++i) {
      const Code& each = codes[order[i]];
      part_of[order[i]] = i;
      const bool code = each.context != kAwaitsThreads;
      const auto row = code ? calls_.row_of(each.context) : std::nullopt;
      const bool call = code && (experiment_.contexts[each.context].flags & database::kFrontier) != 0;
      legend.push_back({texts_(each.name), row ? Json(*row) : Json(), call});
    }
    if (order.size() > kParts) legend.push_back({texts_("other code"), nullptr, false});
    return {{"kind", "code"},
            {"title", "code"},
            {"meaning", "In which procedure or MPI call each rank spent most of the moment."},
            {"legend", std::move(legend)},
            {"data", base64(parts(number_of, part_of))}};
  }

  /// Of each cell the part with most bins, from 1 on; 0: nothing is known.
  [[nodiscard]] std::vector<std::uint8_t> parts(const std::map<database::ContextId, std::uint32_t>& number_of,
                                                const std::vector<std::uint32_t>& part_of) const {
    std::vector<std::uint8_t> cells(grid_.lines * grid_.wide, 0);
    std::vector<std::uint32_t> counts(grid_.wide * (kParts + 1));
    for (std::size_t line = 0; line < grid_.lines; ++line) {
      std::ranges::fill(counts, 0);
      const std::size_t end = line + 1 == grid_.lines ? grid_.rows : grid_.first_row(line + 1);
      for (std::size_t row = grid_.first_row(line); row < end; ++row) {
        for (std::size_t bin = 0; bin < map_.bins; ++bin) {
          const database::ContextId context = spent_in(row, bin);
          if (context != database::kNone)
            ++counts[grid_.cell_of(bin) * (kParts + 1) + part_of[number_of.at(context)]];
        }
      }
      for (std::size_t cell = 0; cell < grid_.wide; ++cell) {
        const auto of_cell = std::span(counts).subspan(cell * (kParts + 1), kParts + 1);
        const auto most = std::ranges::max_element(of_cell);
        if (*most > 0)
          cells[line * grid_.wide + cell] = static_cast<std::uint8_t>(most - of_cell.begin() + 1);
      }
    }
    return cells;
  }

  const database::Contents& experiment_;
  const TimeMap& map_;
  const PageTree& calls_;
  PageTexts& texts_;
  Grid grid_;
  std::vector<std::vector<std::uint64_t>> thread_waits_;  ///< by row and bin
};

Json segments_json(const database::Contents& experiment, const Variation& variation, const PageTree& calls,
                   PageTexts& texts, const Grid& grid) {
  Json json = grid.to_json(variation.rows);
  json["title"] = texts(name_segments(experiment, variation));
  json["segment"] = segment_name(experiment, variation);
  json["lines_up"] = line_up(variation);
  json["median_s"] = short_number(seconds_of(variation.median_ns));
  json.update(scaled_values(grid.cells([&](std::size_t row, std::vector<double>& values) {
    const std::vector<std::uint64_t>& times = variation.rows[row].sos_ns;
    for (std::size_t i = 0; i < times.size(); ++i) values[i] = seconds_of(times[i]);
    return times.size();
  }),
                            16));
  const auto row = variation.context == database::kNone ? std::nullopt : calls.row_of(variation.context);
  json["row"] = row ? Json(*row) : Json();
  Json outliers = Json::array();
  for (const Variation::Outlier& each : variation.outliers) {
    if (outliers.size() == kOutliers) break;
    const bool known = each.context != database::kNone;
    const auto at = known ? calls.row_of(each.context) : std::nullopt;
    outliers.push_back(
        {{"rank", each.rank},
         {"line", outlier_phrase(experiment, each)},
         {"name", name_segment(experiment, variation, each.rank, each.segment)},
         {"segment", each.segment},
         {"s", short_number(seconds_of(each.sos_ns))},
         {"in", known ? texts(scope_phrase(experiment, each.context, false, kWholeName, true)) : texts("")},
         {"row", at ? Json(*at) : Json()}});
  }
  json["outliers"] = std::move(outliers);
  json["all_outliers"] = variation.outliers.size();
  return json;
}

}  // namespace

Json time_maps(const database::Contents& experiment, const PageTree& calls, PageTexts& texts,
               std::size_t lines, std::size_t wide) {
  const database::TraceAnalyses& trace = experiment.trace();
  Json json = {{"time", nullptr}, {"segments", Json::array()}};
  if (!trace.time_map.rows.empty() && trace.time_map.bins > 0)
    json["time"] = Maps(experiment, calls, texts, lines, wide).make();
  for (const Variation& variation : trace.variations) {
    if (json["segments"].size() == kLevels) break;
    std::size_t longest = 0;
    for (const Variation::Row& row : variation.rows) longest = std::max(longest, row.sos_ns.size());
    if (longest == 0) continue;
    json["segments"].push_back(segments_json(experiment, variation, calls, texts,
                                             Grid(variation.rows.size(), longest, lines, wide)));
  }
  return json;
}

}  // namespace culprit::viewer
