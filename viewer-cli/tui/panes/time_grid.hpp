#pragma once

#include "metrics/wait_pattern.hpp"
#include "tui/state/workspace.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// Columns for the name of the code that the cursor is on.
inline constexpr std::size_t kLongestCode = 48;

/// What a map of ranks over time shows.
struct TimeChoice {
  enum class Kind : std::uint8_t {
    iterations,    ///< how long each took outside MPI
    above_median,  ///< by how much that is more than the median
    metric,        ///< what was counted of a metric in each, outside MPI
    waiting,       ///< all waits for other ranks
    threads,       ///< all waits of main threads for other threads of their process
    calls,         ///< time in MPI calls
    code,          ///< in which procedure or MPI call most of the time went
    pattern        ///< waits of one pattern
  };
  Kind kind = Kind::iterations;
  database::WaitPattern pattern{};
  std::uint32_t metric = 0;  ///< by its place in TraceAnalyses::metrics

  /// Whether it shows iterations rather than time.
  [[nodiscard]] bool of_iterations() const {
    return kind == Kind::iterations || kind == Kind::above_median || kind == Kind::metric;
  }
  /// Whether waits of this pattern are among what it shows.
  [[nodiscard]] bool shows(database::WaitPattern wait) const {
    if (kind == Kind::threads) return metrics::is_of_threads(wait);
    if (kind == Kind::waiting) return metrics::is_whole_wait(wait) && !metrics::is_of_threads(wait);
    return kind == Kind::pattern && pattern == wait;
  }
  friend bool operator==(const TimeChoice&, const TimeChoice&) = default;
};

/// Values of ranks (rows) over time (columns), in ns or a metric's own unit. Rows may differ in length.
class TimeGrid {
 public:
  virtual ~TimeGrid() = default;

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::uint64_t at(std::size_t row, std::size_t column) const {
    return column < rows_[row].size() ? rows_[row][column] : 0;
  }
  /// Rows, or columns, from `first` on.
  struct Part {
    std::size_t first = 0, count = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  /// Each cell of a map of `rows` x `columns`, `lines` high and `wide` cells wide, line by line (see
  /// first_of): the mean over the columns that a row has there; of several rows the largest of their means.
  [[nodiscard]] std::vector<std::uint64_t> means(const Part& rows, const Part& columns, std::size_t lines,
                                                 std::size_t wide) const;
  /// What a cell of the map shows: means(), or, where there is a legend, the part with most of its bins, from
  /// 1 on; 0: nothing is known.
  [[nodiscard]] virtual std::vector<std::uint64_t> cells(const Part& rows, const Part& columns,
                                                         std::size_t lines, std::size_t wide) const {
    return means(rows, columns, lines, wide);
  }
  /// Whether a row is on the critical path somewhere in these columns, from `first` to before `last`.
  [[nodiscard]] virtual bool is_critical(std::size_t /*row*/, std::size_t /*first*/,
                                         std::size_t /*last*/) const {
    return false;
  }
  /// What the parts are, most bins first, at most kParts; empty where cells are amounts.
  [[nodiscard]] virtual std::vector<std::string> legend() const { return {}; }
  /// Where there is a legend: the part that code is of, from 1 on; 0: none. And what it is called.
  [[nodiscard]] virtual std::uint64_t part_of(database::ContextId /*context*/) const { return 0; }
  [[nodiscard]] virtual std::string code_name(database::ContextId /*context*/) const { return {}; }
  /// Of the columns of one cell the cursor goes to the one with most.
  [[nodiscard]] virtual std::uint64_t weight(std::size_t row, std::size_t column) const {
    return at(row, column);
  }

  /// How much of the most there can be, 0 to 1.
  [[nodiscard]] double level(std::uint64_t ns) const {
    return ns <= least_ || most_ <= least_
               ? 0
               : static_cast<double>(ns - least_) / static_cast<double>(most_ - least_);
  }

  [[nodiscard]] virtual std::int32_t rank(std::size_t row) const = 0;
  /// What it shows, in at most `width` columns where a shorter name of the code can do that.
  [[nodiscard]] virtual std::string title(std::size_t width, bool unicode) const = 0;
  /// Of the axis below, and of a column on it.
  [[nodiscard]] virtual std::string axis() const = 0;
  [[nodiscard]] virtual std::string column_name(std::size_t column, bool unicode) const = 0;
  /// Between two columns, on the axis; and how a place on it is called, which is a round number.
  [[nodiscard]] virtual double column_length() const { return 1; }
  [[nodiscard]] virtual std::string tick_name(double at, bool unicode) const;
  /// How much `columns` columns are, which may be a fraction: `51 ms`, `2.5 iterations`.
  [[nodiscard]] virtual std::string amount_of(double columns, bool unicode) const = 0;
  /// A further axis, in numbers that grow with the columns of a row; empty: there is none.
  [[nodiscard]] virtual std::string further_axis() const { return {}; }
  [[nodiscard]] virtual std::optional<std::uint64_t> further_at(std::size_t /*row*/,
                                                                std::size_t /*column*/) const {
    return std::nullopt;
  }
  [[nodiscard]] virtual std::string further_name(double number, bool unicode) const;
  /// What no bar and a full one stand for.
  [[nodiscard]] virtual std::string shade_name(bool most, bool unicode) const = 0;
  /// What the cursor is on, without the rank.
  [[nodiscard]] virtual std::string describe(std::size_t row, std::size_t column, bool unicode) const = 0;
  /// The code there; kNone where none is known.
  [[nodiscard]] virtual database::ContextId context(std::size_t row, std::size_t column) const = 0;

 protected:
  /// The rows' values outlive this.
  void set_rows(std::vector<std::span<const std::uint64_t>> rows);

  std::vector<std::span<const std::uint64_t>> rows_;
  std::size_t columns_ = 0;
  std::uint64_t least_ = 0, most_ = 0;
};

/// A duration in seconds that is a round number: `1.5 s`, not `1.500 s`.
std::string round_duration(double seconds, bool unicode);

/// The first of the things that a cell of a map stands for; `cells` cells for `things` things, either may be
/// more.
constexpr std::size_t first_of(std::size_t cell, std::size_t cells, std::size_t things) {
  return cell * things / cells;
}

/// What the database has of it, iterations first, patterns with most waiting first.
std::vector<TimeChoice> time_choices(const database::Contents& experiment);

/// `waiting`, `in MPI calls`, `wait-at-nxn`, …
std::string name_of_choice(const database::Contents& experiment, const TimeChoice& choice);

/// All of it, in ns; not set for iterations.
std::optional<std::uint64_t> total_of(const database::TraceAnalyses& trace, const TimeChoice& choice);

/// `choice` is one of time_choices(); `finer`: which level of iterations. The experiment must outlive it.
std::unique_ptr<TimeGrid> make_time_grid(const database::Contents& experiment, const TimeChoice& choice,
                                         std::size_t finer);
/// The same of a choice of iterations, and of one of time.
std::unique_ptr<TimeGrid> make_segments_grid(const database::Contents& experiment, const TimeChoice& choice,
                                             std::size_t finer);
std::unique_ptr<TimeGrid> make_bins_grid(const database::Contents& experiment, const TimeChoice& choice);

}  // namespace culprit::viewer::tui
