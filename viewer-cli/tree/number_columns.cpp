#include "tree/number_columns.hpp"

#include "text/shorten.hpp"
#include "views/visible.hpp"

#include <algorithm>
#include <cmath>

namespace culprit::viewer {
namespace {

constexpr double kPercent = 100;
constexpr std::size_t kGap = 2;
constexpr std::size_t kShareWidth = 5;  // "100.0"
constexpr std::size_t kNarrow = 100;    // below: no own time
constexpr std::size_t kWide = 130;      // from here: shares of idleness and blame too

}  // namespace

NumberColumns::NumberColumns(const Screen& screen, const ViewRequest& request)
    : screen_(screen), request_(request) {
  for (const views::Column& column : request.columns) {
    const double whole = views::total(*request.figures, column);
    totals_.push_back(std::isnan(whole) ? 0 : whole);
    wholes_.push_back(request.whole(column));
  }
  // Times side by side are written in one unit with as many decimals, so that they compare at a glance.
  double longest = 0;
  for (std::size_t metric = 0; metric < totals_.size(); ++metric) {
    if (request.columns[metric].unit == "s") longest = std::max(longest, totals_[metric]);
  }
  for (std::size_t metric = 0; metric < totals_.size(); ++metric) {
    const std::string& unit = request.columns[metric].unit;
    scales_.push_back(scale_for(unit == "s" ? longest : totals_[metric], unit, screen.unicode));
  }
  if (request.defaults != 0) choose_default();
  choose_given();
}

void NumberColumns::add(std::size_t metric, bool share, const std::string& above, const std::string& below) {
  Part part{metric, share, above, below, std::max(columns(above), columns(below))};
  const std::size_t digits = share ? kShareWidth : columns(scales_[metric].write(totals_[metric]));
  part.width = std::max(part.width, digits);
  parts_.push_back(part);
}

void NumberColumns::choose_default() {
  const bool time = request_.columns[0].name.event == "REALTIME";
  add(0, false, time ? "time" : request_.columns[0].name.event, scales_[0].unit);
  add(0, true, "", "%");
  if (screen_.width >= kNarrow) add(1, true, "self", "%");
  for (std::size_t metric = 2; metric < request_.defaults; ++metric) {
    if (totals_[metric] == 0) continue;
    add(metric, false, request_.columns[metric].blame ? "blame" : "wait", scales_[metric].unit);
    if (screen_.width >= kWide) add(metric, true, "", "%");
  }
}

void NumberColumns::choose_given() {
  for (std::size_t metric = request_.defaults; metric < request_.columns.size(); ++metric) {
    const views::Column& column = request_.columns[metric];
    if (column.derived) {
      add(metric, false, column.title, "");
      continue;
    }
    std::string scope(views::to_string(column.name.statistic));
    scope += column.name.inclusive ? " (I)" : " (E)";
    const std::string& unit = scales_[metric].unit;
    if (unit != "count" && unit != "threads") scope.append(1, ' ').append(unit);
    add(metric, false, column.name.event, scope);
    if (column.additive() && screen_.width >= kNarrow) add(metric, true, "", "%");
  }
}

std::size_t NumberColumns::width() const {
  std::size_t sum = 0;
  for (const Part& part : parts_) sum += part.width + kGap;
  return sum;
}

std::vector<std::string> NumberColumns::header() const {
  std::vector<std::string> lines(2);
  for (const Part& part : parts_) {
    lines[0] += align_right(part.above, part.width) + std::string(kGap, ' ');
    lines[1] += align_right(part.below, part.width) + std::string(kGap, ' ');
  }
  return lines;
}

std::string NumberColumns::cell(const Part& part, double value) const {
  if (std::isnan(value)) return "n/a";
  if (value == 0) return "";
  if (!part.share) return scales_[part.metric].write(value);
  const double whole = wholes_[part.metric];
  return whole > 0 ? grouped(value / whole * kPercent, 1) : "";
}

std::string NumberColumns::row(const views::VisibleNode& row) const {
  std::string line;
  for (const Part& part : parts_) {
    const double value =
        views::visible_value(*request_.view, row, request_.columns[part.metric], request_.options.fold_calls);
    const std::string text = align_right(cell(part, value), part.width);
    const bool additive = request_.columns[part.metric].additive();
    const double share = additive && totals_[part.metric] > 0 ? value / totals_[part.metric] : 0;
    line += screen_.heat(share, text) + std::string(kGap, ' ');
  }
  return line;
}

}  // namespace culprit::viewer
