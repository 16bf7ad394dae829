#pragma once

#include "tui/panes/number_cells.hpp"
#include "tui/state/workspace.hpp"
#include "tui/widgets/canvas.hpp"
#include "views/outline.hpp"

namespace culprit::viewer::tui {

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
