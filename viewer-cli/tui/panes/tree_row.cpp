#include "tui/panes/tree_row.hpp"

#include "text/node_label.hpp"
#include "tui/widgets/plot.hpp"
#include "tui/widgets/tree_lines.hpp"
#include "views/frame.hpp"

#include <algorithm>

namespace culprit::viewer::tui {
std::pair<int, int> TreeRow::draw(Canvas& canvas, const Area& area, const NumberCells& numbers) const {
  const bool unicode = workspace.unicode();
  views::View& shown = workspace.view(view);
  const bool sampled = numbers.row(canvas, area.row, area.column, view, item);
  const int end = area.column + area.width;
  int column = area.column + numbers.width();
  const auto marked = std::find(workspace.marked.begin(), workspace.marked.end(), NodeRef{view, item.node});
  if (marked != workspace.marked.end()) {
    const auto series = static_cast<int>(marked - workspace.marked.begin());
    canvas.put(area.row, column - 1, Dots::marker(series, unicode), series_tone(series));
  }
  column = draw_guides(canvas, {area.row, column, 1, end - column}, item, opens, unicode);
  const int room = std::max(end - column, 1);
  std::string text = row_label(shown, item);
  if (view == Workspace::kCallers && item.parent != nullptr) text.insert(0, unicode ? "← " : "<- ");
  const std::vector<std::string> remarks = sampled ? remarks_of(shown, item, unicode ? "← " : "<- ")
                                                   : std::vector<std::string>{"too short to sample"};
  const FittedLabel fitted = fit_label(text, remarks, static_cast<std::size_t>(room), unicode);
  const int behind = canvas.write(area.row, column, fitted.name, Tone::plain, room);
  canvas.write(area.row, behind + 2, fitted.remark, Tone::dim, end - behind - 2);
  return {column, behind};
}

}  // namespace culprit::viewer::tui
