// Maps of ranks over iterations or invocations: how long each took outside MPI, and what was counted in it.
#include "commands/variation.hpp"
#include "findings/long_segments.hpp"
#include "findings/phrases.hpp"
#include "findings/segment_metrics.hpp"
#include "findings/segment_picture.hpp"
#include "text/prose.hpp"
#include "text/quantity.hpp"
#include "text/shorten.hpp"
#include "tui/panes/time_grid.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace culprit::viewer::tui {
namespace {

using database::Variation;
using Kind = TimeChoice::Kind;

/// `2.5 iterations`.
std::string segments_amount(const database::Contents& experiment, const Variation& variation, double number) {
  const std::string name(segment_name(experiment, variation));
  return number == 1 ? "1 " + name : grouped(number, number < 10 ? 1 : 0) + ' ' + name + 's';
}

/// What the columns are; the middle of the code's name goes where that makes it fit into `width`.
std::string segments_text(const database::Contents& experiment, const Variation& variation, bool begins,
                          std::size_t width, bool unicode) {
  if (variation.marked || variation.context == database::kNone)
    return begins ? "Iterations that the program marked" : "iterations that the program marked";
  std::string what = segment_name(experiment, variation) + std::string("s ") +
                     segment_preposition(experiment, variation) + ' ';
  // Where ranks differ, the same column is not the same thing on all of them.
  if (!line_up(variation)) what = "each rank's own " + numbers_of_segments(variation) + ' ' + what;
  if (begins) what = capitalized(what);
  constexpr std::size_t kLeast = 12, kMost = 40;
  const std::string code = scope_phrase(experiment, variation.context, false, kMost, unicode);
  return what + shorten_middle(code, std::max(kLeast, width - std::min(width, what.size())), unicode);
}

/// Something of each segment of each rank.
class Segments : public TimeGrid {
 public:
  Segments(const database::Contents& experiment, const Variation& variation)
      : experiment_(experiment), variation_(variation) {}

  [[nodiscard]] std::int32_t rank(std::size_t row) const override { return variation_.rows[row].rank; }
  [[nodiscard]] std::string axis() const override {
    return std::string(segment_name(experiment_, variation_));
  }
  [[nodiscard]] std::string amount_of(double columns, bool) const override {
    return segments_amount(experiment_, variation_, columns);
  }
  [[nodiscard]] std::string column_name(std::size_t column, bool) const override {
    return std::to_string(column);
  }
  [[nodiscard]] std::string further_axis() const override { return have_begins(variation_) ? "time" : ""; }
  /// In ns since the first call of any rank.
  [[nodiscard]] std::optional<std::uint64_t> further_at(std::size_t row, std::size_t column) const override {
    const std::optional<double> begin = begin_s(experiment_, variation_.rows[row], column);
    if (!begin) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(*begin * kNsPerSecond));
  }
  [[nodiscard]] std::string further_name(double number, bool unicode) const override {
    return round_duration(number / kNsPerSecond, unicode);
  }

 protected:
  [[nodiscard]] const database::Contents& experiment() const { return experiment_; }
  [[nodiscard]] const Variation& variation() const { return variation_; }

 private:
  const database::Contents& experiment_;
  const Variation& variation_;
};

/// How long they took outside MPI.
class Iterations final : public Segments {
 public:
  Iterations(const database::Contents& experiment, const Variation& variation, bool above_median)
      : Segments(experiment, variation), above_median_(above_median) {
    std::vector<std::span<const std::uint64_t>> rows;
    for (const Variation::Row& row : variation.rows) rows.emplace_back(row.sos_ns);
    set_rows(std::move(rows));
    if (above_median) least_ = variation.median_ns;
  }

  [[nodiscard]] std::string shade_name(bool most, bool unicode) const override {
    return duration(seconds_of(most ? most_ : least_), unicode);
  }
  [[nodiscard]] std::string title(std::size_t width, bool unicode) const override {
    const std::string measure = (above_median_ ? ": how much longer than the median" : ": time outside MPI") +
                                (" (median " + duration(seconds_of(variation().median_ns), unicode) + ')');
    const std::size_t taken = culprit::viewer::columns(measure);
    return segments_text(experiment(), variation(), true, width > taken ? width - taken : 0, unicode) +
           measure;
  }
  [[nodiscard]] std::string describe(std::size_t row, std::size_t column, bool unicode) const override {
    const std::uint64_t ns = at(row, column);
    std::string text =
        name_segment(experiment(), variation(), rank(row), static_cast<std::uint32_t>(column)) + ": " +
        duration(seconds_of(ns), unicode);
    if (variation().median_ns > 0)
      text +=
          " (" + beside_median(static_cast<double>(ns) / static_cast<double>(variation().median_ns)) + ')';
    const Variation::Outlier* const unusual = outlier(row, column);
    if (unusual == nullptr) return text;
    const std::uint32_t at = unusual->location;
    const bool of_worker = at != database::kNone && experiment().locations[at].thread != 0;
    return text + ", unusually long" + (of_worker ? " on " + outlier_phrase(experiment(), *unusual) : "");
  }
  /// Of an outlier where it spent most time, else what recurs.
  [[nodiscard]] database::ContextId context(std::size_t row, std::size_t column) const override {
    const Variation::Outlier* const unusual = outlier(row, column);
    if (unusual != nullptr && unusual->context != database::kNone) return unusual->context;
    return variation().context;
  }

 private:
  /// `+217 %`; of much more how many times it is.
  static std::string beside_median(double ratio) {
    constexpr double kManyTimes = 10;
    if (ratio >= kManyTimes) return grouped(ratio) + " times the median";
    return std::string(ratio >= 1 ? "+" : "") + grouped(100 * (ratio - 1)) + " %";
  }
  [[nodiscard]] const Variation::Outlier* outlier(std::size_t row, std::size_t column) const {
    const auto found = std::find_if(
        variation().outliers.begin(), variation().outliers.end(),
        [&](const Variation::Outlier& each) { return each.rank == rank(row) && each.segment == column; });
    return found == variation().outliers.end() ? nullptr : &*found;
  }

  bool above_median_;
};

/// What was counted in iterations, MPI calls left out.
class Counted final : public Segments {
 public:
  Counted(const database::Contents& experiment, const Variation& variation, std::size_t metric)
      : Segments(experiment, variation),
        metric_index_(metric),
        metric_(experiment.metrics[experiment.trace().metrics[metric]]) {
    std::vector<std::span<const std::uint64_t>> rows;
    for (const Variation::Row& row : variation.rows) {
      rows.push_back(row.values.empty() ? std::span<const std::uint64_t>() : std::span(row.values[metric]));
    }
    set_rows(std::move(rows));
  }

  [[nodiscard]] std::string title(std::size_t width, bool unicode) const override {
    const std::string counted = metric_.name + " outside MPI in ";
    const std::size_t taken = culprit::viewer::columns(counted);
    return counted +
           segments_text(experiment(), variation(), false, width > taken ? width - taken : 0, unicode);
  }
  [[nodiscard]] std::string describe(std::size_t row, std::size_t column, bool unicode) const override {
    const std::uint64_t value = at(row, column);
    return name_segment(experiment(), variation(), rank(row), static_cast<std::uint32_t>(column)) + ": " +
           metric_.name + ' ' + text_of(value, unicode);
  }
  [[nodiscard]] std::string shade_name(bool most, bool unicode) const override {
    return text_of(most ? most_ : least_, unicode);
  }
  /// Where most of it was counted, else what recurs.
  [[nodiscard]] database::ContextId context(std::size_t row, std::size_t column) const override {
    const database::ContextId most = counted_in(row, column);
    return most != database::kNone ? most : variation().context;
  }

 private:
  [[nodiscard]] database::ContextId counted_in(std::size_t row, std::size_t column) const {
    const Variation::Row& of_rank = variation().rows[row];
    return column < of_rank.sos_ns.size() ? context_of(of_rank, metric_index_, column) : database::kNone;
  }
  [[nodiscard]] std::string text_of(std::uint64_t value, bool unicode) const {
    return metric_.unit == "ns" ? duration(seconds_of(value), unicode) : grouped(static_cast<double>(value));
  }

  std::size_t metric_index_;  // among those of the time lines
  const database::Metric& metric_;
};

}  // namespace

std::unique_ptr<TimeGrid> make_segments_grid(const database::Contents& experiment, const TimeChoice& choice,
                                             std::size_t finer) {
  const std::vector<Variation>& levels = experiment.trace().variations;
  const Variation& variation = levels[std::min(finer, levels.size() - 1)];
  if (choice.kind == Kind::metric) return std::make_unique<Counted>(experiment, variation, choice.metric);
  return std::make_unique<Iterations>(experiment, variation, choice.kind == Kind::above_median);
}

}  // namespace culprit::viewer::tui
