#pragma once

#include "tui/panes/time_grid.hpp"
#include "tui/state/single_calls.hpp"

#include <map>
#include <string>

namespace culprit::viewer::tui {

/// The map of code, so near that single MPI calls are seen: columns are parts of its bins. Until the calls of
/// what is looked at were read, the bins themselves are shown.
class CallsGrid final : public TimeGrid {
 public:
  /// `bins`: the map of code. `experiment` and `calls` must outlive this.
  CallsGrid(const database::Contents& experiment, std::unique_ptr<TimeGrid> bins, SingleCalls& calls);

  /// A bin has 2^shift() columns.
  [[nodiscard]] unsigned shift() const { return shift_; }
  /// The map of code again; nothing may be asked of this any more.
  [[nodiscard]] std::unique_ptr<TimeGrid> take_bins() { return std::move(bins_); }
  /// Has the calls there read. False: nothing is to be waited for.
  bool want(const Part& rows, const Part& columns);
  /// Takes what was read. False: it is the same as before.
  bool renew();

  /// Where the rank that a call waited for ended that wait.
  struct Place {
    std::size_t row = 0, column = 0;
  };
  [[nodiscard]] std::optional<Place> waited_for(std::size_t row, std::size_t column) const;
  /// A message, or what ended a wait: where it came from, and where it arrived.
  struct Line {
    std::size_t from_row = 0, row = 0, column = 0;
  };
  /// Those between two of these rows that arrived in these columns.
  [[nodiscard]] std::vector<Line> lines(const Part& rows, const Part& columns) const;
  /// The columns of what a rank did there, a call or code between calls.
  [[nodiscard]] Part around(std::size_t row, std::size_t column) const;
  /// Where the next call, or code between calls, begins, or the one before; `column` where that is not known.
  [[nodiscard]] std::size_t beside(std::size_t row, std::size_t column, bool forward) const;

  [[nodiscard]] std::vector<std::string> legend() const override { return bins_->legend(); }
  [[nodiscard]] std::uint64_t part_of(database::ContextId context) const override;
  [[nodiscard]] std::string code_name(database::ContextId context) const override;
  [[nodiscard]] std::vector<std::uint64_t> cells(const Part& rows, const Part& columns, std::size_t lines,
                                                 std::size_t wide) const override;
  [[nodiscard]] std::uint64_t weight(std::size_t row, std::size_t column) const override;
  [[nodiscard]] bool is_critical(std::size_t row, std::size_t first, std::size_t last) const override;
  [[nodiscard]] std::int32_t rank(std::size_t row) const override { return map_.rows[row].rank; }
  [[nodiscard]] std::string title(std::size_t width, bool unicode) const override;
  [[nodiscard]] std::string axis() const override { return bins_->axis(); }
  [[nodiscard]] std::string column_name(std::size_t column, bool unicode) const override;
  [[nodiscard]] double column_length() const override;
  [[nodiscard]] std::string tick_name(double at, bool unicode) const override;
  [[nodiscard]] std::string amount_of(double columns, bool unicode) const override;
  [[nodiscard]] std::string further_axis() const override { return bins_->further_axis(); }
  [[nodiscard]] std::optional<std::uint64_t> further_at(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::string shade_name(bool most, bool unicode) const override;
  [[nodiscard]] std::string describe(std::size_t row, std::size_t column, bool unicode) const override;
  [[nodiscard]] database::ContextId context(std::size_t row, std::size_t column) const override;

 private:
  /// Of a column's beginning, in ns; and back.
  [[nodiscard]] std::uint64_t time_of(std::size_t column) const;
  [[nodiscard]] std::size_t column_of(std::uint64_t ns) const;
  /// Whether the calls there were read, all of them.
  [[nodiscard]] bool has(const Part& rows, const Part& columns) const;
  /// Null: it was not read.
  [[nodiscard]] const std::vector<Stretch>* line(std::size_t row) const;
  /// Null: it was not read, or nothing is known.
  [[nodiscard]] const Stretch* stretch_at(std::size_t row, std::size_t column) const;
  /// Adds how long a row was in which part, in each cell between two `borders` (ns).
  void add_row(std::size_t row, const std::vector<std::uint64_t>& borders,
               std::vector<std::uint64_t>& sums) const;

  std::string line_;  ///< what a row is of: "rank" or "thread"
  const database::TimeMap& map_;
  std::unique_ptr<TimeGrid> bins_;
  SingleCalls& calls_;
  mutable std::vector<std::uint32_t> parts_;  ///< by context, as far as asked
  unsigned shift_;
  std::shared_ptr<const CallsRead> read_;
  std::map<std::int32_t, std::size_t> line_of_;  ///< of a rank, in what was read
};

}  // namespace culprit::viewer::tui
