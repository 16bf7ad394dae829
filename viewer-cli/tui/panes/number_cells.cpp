#include "tui/panes/number_cells.hpp"

#include "request/view_request.hpp"
#include "text/shorten.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer::tui {
namespace {

constexpr int kGap = 2;
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

NumberCells::NumberCells(Workspace& workspace, std::size_t first, int room) : workspace_(workspace) {
  for (std::size_t column = first; column < workspace.columns().size(); ++column) {
    const views::Column& shown = workspace.columns()[column].column;
    std::vector<Part> parts;
    const bool shares = shown.additive();
    const bool both = column == workspace.sort() && shares && !workspace.percent;
    if (!workspace.percent || !shares) parts.push_back(part(column, false));
    if (both || (workspace.percent && shares)) parts.push_back(part(column, true));
    if (both) parts.back().heading = "%";
    if (both) parts.back().width = kShareWidth;
    int needed = 0;
    for (const Part& each : parts) needed += each.width + kGap;
    if (width_ + needed > room && !parts_.empty()) break;
    width_ += needed;
    tells_time_ |= shown.title == primary_metric(workspace.experiment()) + ":sum (I)";
    for (Part& each : parts) parts_.push_back(std::move(each));
  }
}

NumberCells::Part NumberCells::part(std::size_t column, bool share) const {
  const NumberColumn& shown = workspace_.columns()[column];
  Part part{column, share, 0, shown.heading};
  const std::string unit = share ? "%" : shown.scale.unit;
  if (length(part.heading) > kLongestHeading)
    part.heading = shorten_middle(part.heading, kLongestHeading, workspace_.unicode());
  if (!unit.empty() && unit != "count" && unit != "threads") part.heading += ' ' + unit;
  if (column == workspace_.sort()) {
    const bool up = workspace_.smallest_first;
    part.heading.insert(0, workspace_.unicode() ? (up ? "▲" : "▼") : (up ? "^" : "v"));
  }
  const int digits = share ? kShareWidth : length(shown.scale.write(shown.whole));
  part.width = std::max(length(part.heading), digits);
  return part;
}

bool NumberCells::shows(std::size_t column) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) { return part.column == column; });
}

void NumberCells::header(Canvas& canvas, int row, int column) const {
  for (const Part& part : parts_) {
    const Tone tone = part.column == workspace_.sort() ? Tone::strong : Tone::heading;
    canvas.write(row, column + part.width - length(part.heading), part.heading, tone, part.width);
    column += part.width + kGap;
  }
}

std::string NumberCells::text(const Part& part, double value) const {
  const NumberColumn& shown = workspace_.columns()[part.column];
  if (std::isnan(value)) return "n/a";
  if (value == 0) return "";
  if (!part.share) return shown.scale.write(value);
  return shown.whole > 0 ? grouped(value / shown.whole * kPercent, 1) : "";
}

void NumberCells::row(Canvas& canvas, int row, int column, const NodeRef& ref) const {
  const int begin = column;
  bool blank = true;
  for (const Part& part : parts_) {
    const NumberColumn& shown = workspace_.columns()[part.column];
    const double value = views::visible_value(workspace_.view(ref.view), ref.node, shown.column,
                                              workspace_.passed_over.fold_calls);
    const std::string digits = text(part, value);
    blank = blank && digits.empty();
    const bool stands_out = shown.column.additive() && shown.whole > 0;
    const int start = std::max(part.width - length(digits), 0);
    canvas.write(row, column + start, digits, stands_out ? tone_of_share(value / shown.whole) : Tone::plain,
                 part.width);
    column += part.width + kGap;
  }
  if (blank && tells_time_) canvas.write(row, begin, "not sampled", Tone::dim, width_ - kGap);
}

std::optional<std::size_t> NumberCells::column_at(int offset) const {
  int begin = 0;
  for (const Part& part : parts_) {
    if (offset >= begin && offset < begin + part.width + kGap) return part.column;
    begin += part.width + kGap;
  }
  return std::nullopt;
}

}  // namespace culprit::viewer::tui
