#pragma once

#include "text/quantity.hpp"
#include "views/column.hpp"
#include "views/figures.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// A column of numbers in front of a tree.
struct NumberColumn {
  views::Column column;
  std::string heading;  ///< `time`, `idle`, or the metric's name
  Scale scale;
  double whole = 0;  ///< of the run; 0 where there is none
};

/// The columns that are shown, at least one, which of them trees are sorted by, and the metrics that the user
/// defined. To begin with, what a first look needs.
class ShownColumns {
 public:
  /// `figures` must outlive this, or be replaced. `unicode`: what the terminal shows.
  ShownColumns(const views::Figures& figures, bool unicode);

  [[nodiscard]] std::size_t size() const { return columns_.size(); }
  [[nodiscard]] const NumberColumn& operator[](std::size_t column) const { return columns_[column]; }
  [[nodiscard]] const NumberColumn& front() const { return columns_.front(); }
  [[nodiscard]] auto begin() const { return columns_.begin(); }
  [[nodiscard]] auto end() const { return columns_.end(); }
  [[nodiscard]] std::vector<std::string> names() const;

  [[nodiscard]] std::size_t sort() const { return sort_; }
  [[nodiscard]] const NumberColumn& sort_column() const { return columns_[sort_]; }
  void sort_by(std::size_t column) { sort_ = column < columns_.size() ? column : 0; }

  /// Every metric with each statistic that makes sense, and what is defined: what a column may show.
  [[nodiscard]] std::vector<std::string> known_names() const;
  /// Shows these columns, by name; unknown ones are left out. Keeps the sort column where it still is.
  void show(const std::vector<std::string>& names);
  /// Adds `NAME=FORMULA` as a metric and a column. Throws views::BadDefinition.
  void define(const std::string& definition);
  [[nodiscard]] const std::vector<std::string>& definitions() const { return definitions_; }
  /// The same columns, of other threads.
  void replace_figures(const views::Figures& figures, std::optional<std::uint32_t> role);

  /// Shares are of the run without MPI_Init and MPI_Finalize. Has effect on columns that are shown later.
  bool without_startup = false;

 private:
  [[nodiscard]] const database::Contents& experiment() const { return figures_->experiment(); }
  [[nodiscard]] views::Column find(const std::string& name) const;
  void finish();

  const views::Figures* figures_;
  bool unicode_;
  std::optional<std::uint32_t> role_;
  std::vector<std::string> definitions_;
  std::vector<views::Column> defined_;
  std::vector<NumberColumn> columns_;
  std::size_t sort_ = 0;
};

}  // namespace culprit::viewer::tui
