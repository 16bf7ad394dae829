#pragma once

#include "database/database.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::database {

/// The exclusive values of some consecutive locations: collected by location, then brought into the order of
/// contexts. Column by column, so that what looks at one metric reads nothing else. Keeps its memory from one
/// tile to the next. Not thread-safe.
class TileRows {
 public:
  /// The rows of one context: of all its locations, ascending.
  struct OfContext {
    ContextId context = 0;
    std::uint32_t first = 0, rows = 0;
    std::uint64_t metrics = 0;  ///< by bits: which have a value in any of them; see has()

    /// Whether any row has a value of the metric. Of those that no bit is left for: whether it may.
    [[nodiscard]] bool has(std::size_t metric) const { return (metrics & bit_of(metric)) != 0; }
    /// Metrics without one of their own share the last.
    static constexpr std::uint64_t bit_of(std::size_t metric) {
      return std::uint64_t{1} << (metric < 63 ? metric : 63);
    }
  };

  /// `contexts`: how many there are; `metrics`: values per row.
  TileRows(std::size_t contexts, std::size_t metrics)
      : contexts_(contexts), columns_(metrics), held_(metrics), by_context_columns_(metrics) {}

  /// The rows that follow are those of the next location. Also for a location without rows.
  void add_location() { first_row_.push_back(static_cast<std::uint32_t>(rows_.size())); }

  /// Values of the current location at `context`, one per metric; a row of zeros is left out. Contexts must
  /// ascend: throws std::invalid_argument.
  void add_row(ContextId context, std::span<const std::uint64_t> values);

  /// As add_row for each of `contexts`. `values`: all of the first metric, then all of the second, ...
  void add_rows(std::span<const ContextId> contexts, std::span<const std::uint64_t> values);

  [[nodiscard]] std::uint32_t locations() const { return static_cast<std::uint32_t>(first_row_.size()); }
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] std::size_t metrics() const { return columns_.size(); }

  /// By location: the contexts of its rows, and a column of them.
  [[nodiscard]] std::span<const ContextId> contexts_of(std::uint32_t location) const {
    return std::span(rows_).subspan(first_row_[location], row_end(location) - first_row_[location]);
  }
  [[nodiscard]] std::span<const std::uint64_t> column_of(std::uint32_t location, std::size_t metric) const {
    return std::span(columns_[metric])
        .subspan(first_row_[location], row_end(location) - first_row_[location]);
  }

  /// Brings the rows into the order of contexts, unless they are; before what follows.
  void arrange();
  /// The contexts with rows, ascending.
  [[nodiscard]] std::span<const OfContext> by_context() const { return of_context_; }
  /// Per row in that order: its location, counted from the first.
  [[nodiscard]] std::span<const std::uint32_t> locations_by_context() const { return location_of_; }
  /// Per row in that order.
  [[nodiscard]] std::span<const std::uint64_t> column_by_context(std::size_t metric) const {
    return by_context_columns_[metric];
  }

  /// Forgets all locations.
  void clear();

 private:
  [[nodiscard]] std::uint32_t row_end(std::uint32_t location) const {
    return location + 1 < first_row_.size() ? first_row_[location + 1]
                                            : static_cast<std::uint32_t>(rows_.size());
  }
  void count_rows();
  void place_rows();
  void arrange_metric(std::size_t metric);

  std::size_t contexts_;
  std::vector<std::uint32_t> first_row_;             ///< per location
  std::vector<ContextId> rows_;                      ///< per row, its context
  std::vector<std::vector<std::uint64_t>> columns_;  ///< as the rows
  std::vector<std::uint64_t> held_;                  ///< per metric, bits that any value has
  std::vector<std::uint64_t> any_;                   ///< of some rows: whether they hold anything

  // By context.
  bool arranged_ = false;
  std::vector<std::uint32_t> next_row_;  ///< by context: how many rows, then where its next row goes
  std::vector<OfContext> of_context_;
  std::vector<std::uint32_t> location_of_;
  std::vector<std::uint32_t> row_of_;            ///< by location
  std::vector<std::uint32_t> next_of_location_;  ///< while they are placed
  std::vector<std::vector<std::uint64_t>> by_context_columns_;
};

}  // namespace culprit::database
