#pragma once

#include "tui/state/workspace.hpp"
#include "tui/widgets/canvas.hpp"
#include "tui/widgets/page.hpp"
#include "views/outline.hpp"

#include <vector>

namespace culprit::viewer::tui {

/// The workspace's columns, beginning with a chosen one. The column that is sorted by shows amounts and
/// shares, the others what the workspace says.
class NumberCells final : public Cells {
 public:
  /// `room`: columns of the screen that the numbers may take. `first`: how many columns are scrolled away.
  NumberCells(Workspace& workspace, std::size_t first, int room);

  /// `view`: which of the workspace's. False: time is among the columns, and no figure of the row is
  /// anything.
  bool row(Canvas& canvas, int row, int column, std::size_t view, const views::VisibleNode& node) const;

 private:
  [[nodiscard]] std::vector<Part> parts_of(std::size_t column) const;
  [[nodiscard]] std::string text(const Part& part, double value, const views::Frame& frame) const;

  Workspace& workspace_;
  bool tells_time_ = false;
};

/// How much a share of the whole stands out.
Tone tone_of_share(double share);

/// A row of a view's tree: numbers, guides, what the node is called, and what is to be said of it.
struct TreeRow {
  Workspace& workspace;
  std::size_t view;  ///< which of the workspace's
  views::Outline::Item& item;
  bool opens;  ///< something is below it

  /// `area`: of the row alone. The columns of the name: from its first one up to the second.
  std::pair<int, int> draw(Canvas& canvas, const Area& area, const NumberCells& numbers) const;
};

}  // namespace culprit::viewer::tui
