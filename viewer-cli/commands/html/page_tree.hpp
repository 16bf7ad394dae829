#pragma once

#include "commands/html/packed_values.hpp"
#include "views/column.hpp"
#include "views/view.hpp"
#include "views/visible.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace culprit::viewer {

/// A column of the page's trees.
struct PageColumn {
  views::Column column;
  std::string heading, meaning;
  double whole = 0;          ///< of the run; 0 where there is none
  bool of_summaries = true;  ///< false: in the view of callers it would take the values of all threads
};

/// The columns that the browser shows first, then the other sums, then how time is spread over threads; at
/// most `most`, none that is nothing. `shown`: how many of them are shown at first.
std::vector<PageColumn> page_columns(const views::Figures& figures, std::size_t most, std::size_t& shown);

/// The rows of a view that the page holds: as the browser shows them, the weightiest ones, with all that lead
/// to them.
class PageTree {
 public:
  /// Opens the view where most of the `weighing` columns is, until `most` rows are there. `wanted`: nodes
  /// that findings name, which are opened first. The cost grows with the rows and with what lies directly
  /// below them, not with the view. `view` and `columns` outlive this.
  PageTree(views::View& view, const std::vector<PageColumn>& columns, std::size_t weighing, std::size_t most,
           const std::unordered_set<views::NodeId>& wanted);

  [[nodiscard]] views::View& view() const { return view_; }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] const views::VisibleNode& operator[](std::size_t row) const { return rows_[row].shown; }
  /// How much of the run a row is: the largest share of the weighing columns.
  [[nodiscard]] double weight(std::size_t row) const { return rows_[row].weight; }
  /// The row that shows a node, or the nearest one above it; empty where there is none.
  [[nodiscard]] std::optional<std::uint32_t> row_of(views::NodeId node) const;
  /// Rows that were left out.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  [[nodiscard]] Json to_json(PageTexts& texts) const;

 private:
  struct Row {
    views::VisibleNode shown;
    std::uint32_t parent = database::kNone;
    double weight = 0;
    std::uint32_t left = 0;  ///< rows below it that were left out, without what is below those
    double left_value = 0;   ///< of the first column
  };
  struct Candidate {
    views::VisibleNode shown;
    std::uint32_t parent = database::kNone;
    double weight = 0;
    bool wanted = false;
    std::uint64_t number = 0;  ///< in the order of being found
  };

  /// The order of the heap.
  static bool comes_later(const Candidate& a, const Candidate& b);
  void add_below(std::vector<views::VisibleNode> found, std::uint32_t parent);
  void take(Candidate candidate);
  void note_nodes(const views::VisibleNode& shown, std::uint32_t row);
  [[nodiscard]] double value(const views::VisibleNode& shown, const PageColumn& column) const;
  [[nodiscard]] bool is_wanted(const views::VisibleNode& shown) const;

  views::View& view_;
  const std::vector<PageColumn>& columns_;
  std::size_t weighing_;
  const std::unordered_set<views::NodeId>& wanted_;
  std::vector<Row> rows_;
  std::vector<Candidate> heap_;
  std::unordered_map<views::NodeId, std::uint32_t> row_of_;
  std::uint64_t left_out_ = 0, found_ = 0;
};

/// As the browser does at first.
inline constexpr views::PassedOver kPassedOverOnPage{.fold_calls = true,
                                                     .statements = true,
                                                     .start_up = true,
                                                     .wait_internals = true,
                                                     .recursion = true,
                                                     .library = true};

}  // namespace culprit::viewer
