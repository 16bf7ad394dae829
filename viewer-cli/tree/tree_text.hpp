#pragma once

#include "request/view_request.hpp"
#include "text/quantity.hpp"
#include "text/screen.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace culprit::viewer {

inline constexpr const char* kColumnGap = "  ";  ///< behind a column of numbers

/// A view as aligned numbers with the tree beside them, and a last line on what was left out. `ids`: with
/// node ids.
void write_tree(std::ostream& out, const Screen& screen, const ViewRequest& request,
                const views::Shown& shown, bool ids);

/// What was left out of a tree, and how to see it. `small`: what is said of branches below the minimum.
void write_left_out(std::ostream& out, const Screen& screen, const views::Shown& shown,
                    const std::string& small, double min_percent);

/// A path as the same table, one line per step.
void write_path(std::ostream& out, const Screen& screen, const ViewRequest& request,
                const std::vector<views::VisibleNode>& steps, bool ids);

/// Right-aligned columns of numbers that stand in front of a tree, below two lines of headings.
class HeadedColumns {
 public:
  [[nodiscard]] std::size_t width() const { return width_; }
  /// `title`: what stands above the tree.
  void write_header(std::ostream& out, const Screen& screen, const std::string& title) const;

 protected:
  /// A column with room for its headings and for `digits` columns of the screen.
  void add(const std::string& above, const std::string& below, std::size_t digits);
  [[nodiscard]] std::size_t columns_added() const { return widths_.size(); }
  /// Without the gap behind it.
  [[nodiscard]] std::string aligned(std::size_t column, const std::string& text) const;

 private:
  std::vector<std::size_t> widths_;
  std::size_t width_ = 0;
  std::string above_, below_;
};

/// The numbers that stand in front of a tree: one or two table columns (value, share of the total) per
/// metric.
class NumberColumns : public HeadedColumns {
 public:
  NumberColumns(const Screen& screen, const ViewRequest& request);

  /// One row's numbers, coloured by share; zeros are left blank.
  [[nodiscard]] std::string row(const views::VisibleNode& row) const;

 private:
  struct Part {
    std::size_t metric = 0;  ///< index of the request's columns
    bool share = false;      ///< percent of the total instead of the value
  };

  void add(std::size_t metric, bool share, const std::string& above, const std::string& below);
  void choose_default();
  void choose_given();  ///< those that are not the default
  [[nodiscard]] std::string cell(const Part& part, double value, const views::Frame& frame) const;

  const Screen& screen_;
  const ViewRequest& request_;
  std::vector<double> totals_;
  std::vector<double> wholes_;  ///< what shares are of
  std::vector<Scale> scales_;
  std::vector<Part> parts_;
};

}  // namespace culprit::viewer
