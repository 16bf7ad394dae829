#pragma once

#include "tui/state/workspace.hpp"
#include "views/visible.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// A frame in an icicle graph: as wide as its share of what it stands below.
struct FlameSpan {
  views::VisibleNode row;  ///< meaningless where it stands for the whole run
  bool whole_run = false;
  int level = 0;
  int begin = 0, end = 0;  ///< columns
  double value = 0;
  std::optional<std::size_t> parent;  ///< by its place in the layout
};

/// What an icicle graph shows.
struct FlameChoice {
  bool callers = false;                      ///< who calls what, by own time; else what is called, by time
  std::optional<views::VisibleNode> zoomed;  ///< not set: the whole run
  bool zoomed_wait = false;                  ///< by callers: below a wait, whose time is all that it holds
  int width = 0;
};

/// The column whose time (or other sum) spans are as wide as: the one that rows are sorted by, where it is a
/// sum, with all that is below.
views::Column flame_column(const Workspace& workspace);

/// All spans that are at least half a column wide, level by level, each level from left to right, largest
/// first below the same one. The cost is that of opening the nodes that are shown: their number is at most
/// the columns times the levels.
std::vector<FlameSpan> lay_out_flame(Workspace& workspace, const FlameChoice& choice);

/// `all` for the whole run, else the row's label without parameters.
std::string flame_label(Workspace& workspace, const FlameChoice& choice, const FlameSpan& span);

}  // namespace culprit::viewer::tui
