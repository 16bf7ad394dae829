#include "tui/panes/number_cells.hpp"

#include "request/view_request.hpp"
#include "text/node_label.hpp"
#include "text/quantity.hpp"
#include "text/screen.hpp"
#include "text/shorten.hpp"
#include "tui/widgets/plot.hpp"
#include "tui/widgets/tree_lines.hpp"
#include "views/frame.hpp"
#include "views/start_up.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer::tui {

namespace {

constexpr int kShareWidth = 5;       // "100.0"
constexpr int kLongestHeading = 14;  // of the longest names the beginning must do

}  // namespace

Tone tone_of_share(double share) {
  if (share >= kHot) return Tone::hot;
  return share >= kWarm ? Tone::warm : Tone::plain;
}

NumberCells::NumberCells(Workspace& workspace, std::size_t first, int room)
    : Cells(workspace.columns().sort(), workspace.smallest_first, workspace.unicode()),
      workspace_(workspace) {
  for (std::size_t column = first; column < workspace.columns().size(); ++column) {
    if (!add(parts_of(column), room)) break;
    tells_time_ |=
        workspace.columns()[column].column.title == primary_metric(workspace.experiment()) + ":sum (I)";
  }
}

std::vector<Cells::Part> NumberCells::parts_of(std::size_t column) const {
  const NumberColumn& shown = workspace_.columns()[column];
  const auto part = [&](bool share) {
    const std::string unit = share ? "%" : shown.scale.unit;
    std::string text = shown.heading;
    if (width_of(text) > kLongestHeading) text = shorten_middle(text, kLongestHeading, workspace_.unicode());
    if (!unit.empty() && unit != "count" && unit != "threads") text += ' ' + unit;
    text = heading(column, text);
    const int digits = share ? kShareWidth : width_of(shown.scale.write(shown.whole));
    return Part{column, share, text, std::max(width_of(text), digits)};
  };
  if (!shown.column.additive()) return {part(false)};
  if (workspace_.percent) return {part(true)};
  if (column != workspace_.columns().sort()) return {part(false)};
  return {part(false), {column, true, "%", kShareWidth}};
}

std::string NumberCells::text(const Part& part, double value, const views::Frame& frame) const {
  const NumberColumn& shown = workspace_.columns()[part.column];
  if (std::isnan(value)) return "n/a";
  if (value == 0) return "";
  if (!part.share) return shown.scale.write(value);
  if (shown.whole <= 0) return "";
  if (workspace_.columns().without_startup && !views::is_part_without_start_up(frame, value, shown.whole))
    return "-";
  return grouped(value / shown.whole * kPercent, 1);
}

bool NumberCells::row(Canvas& canvas, int row, int column, std::size_t view,
                      const views::VisibleNode& node) const {
  bool blank = true;
  const views::Frame frame = workspace_.view(view).frame(node.node);
  write(canvas, row, column, [&](const Part& part) -> Span {
    const NumberColumn& shown = workspace_.columns()[part.column];
    const double value =
        views::visible_value(workspace_.view(view), node, shown.column, workspace_.passed_over.fold_calls);
    const bool stands_out = shown.column.additive() && shown.whole > 0;
    Span cell{text(part, value, frame), stands_out ? tone_of_share(value / shown.whole) : Tone::plain};
    blank = blank && cell.text.empty();
    return cell;
  });
  return !blank || !tells_time_;
}

namespace {

/// Whether a sibling has the same name.
bool has_namesake(const views::View& view, const views::Outline::Item& item) {
  const std::string_view name = name_among_siblings(view, item);
  if (name.empty() || item.parent == nullptr) return false;
  return std::ranges::any_of(item.parent->children, [&](const auto& each) {
    return each.get() != &item && name_among_siblings(view, *each) == name;
  });
}

}  // namespace

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
  const FittedLabel fitted =
      fit_label(text, remarks, static_cast<std::size_t>(room), unicode, sampled && has_namesake(shown, item));
  const int behind = canvas.write(area.row, column, fitted.name, Tone::plain, room);
  canvas.write(area.row, behind + 2, fitted.remark, Tone::dim, end - behind - 2);
  return {column, behind};
}

}  // namespace culprit::viewer::tui
