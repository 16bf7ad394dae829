#include "tui/panes/number_cells.hpp"

#include "request/view_request.hpp"
#include "text/shorten.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer::tui {
namespace {

constexpr int kShareWidth = 5;       // "100.0"
constexpr int kLongestHeading = 14;  // of the longest names the beginning must do
constexpr double kHot = 0.25, kWarm = 0.05;
constexpr double kPercent = 100;

int length(const std::string& text) {
  return static_cast<int>(columns(text));
}

}  // namespace

Tone tone_of_share(double share) {
  if (share >= kHot) return Tone::hot;
  return share >= kWarm ? Tone::warm : Tone::plain;
}

NumberCells::NumberCells(Workspace& workspace, std::size_t first, int room)
    : Cells(workspace.sort(), workspace.smallest_first, workspace.unicode()), workspace_(workspace) {
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
    if (length(text) > kLongestHeading) text = shorten_middle(text, kLongestHeading, workspace_.unicode());
    if (!unit.empty() && unit != "count" && unit != "threads") text += ' ' + unit;
    text = heading(column, text);
    const int digits = share ? kShareWidth : length(shown.scale.write(shown.whole));
    return Part{column, share, text, std::max(length(text), digits)};
  };
  if (!shown.column.additive()) return {part(false)};
  if (workspace_.percent) return {part(true)};
  if (column != workspace_.sort()) return {part(false)};
  return {part(false), {column, true, "%", kShareWidth}};
}

std::string NumberCells::text(const Part& part, double value) const {
  const NumberColumn& shown = workspace_.columns()[part.column];
  if (std::isnan(value)) return "n/a";
  if (value == 0) return "";
  if (!part.share) return shown.scale.write(value);
  return shown.whole > 0 ? grouped(value / shown.whole * kPercent, 1) : "";
}

bool NumberCells::row(Canvas& canvas, int row, int column, std::size_t view,
                      const views::VisibleNode& node) const {
  bool blank = true;
  write(canvas, row, column, [&](const Part& part) -> Span {
    const NumberColumn& shown = workspace_.columns()[part.column];
    const double value =
        views::visible_value(workspace_.view(view), node, shown.column, workspace_.passed_over.fold_calls);
    const bool stands_out = shown.column.additive() && shown.whole > 0;
    Span cell{text(part, value), stands_out ? tone_of_share(value / shown.whole) : Tone::plain};
    blank = blank && cell.text.empty();
    return cell;
  });
  return !blank || !tells_time_;
}

}  // namespace culprit::viewer::tui
