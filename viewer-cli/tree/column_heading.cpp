#include "tree/column_heading.hpp"

namespace culprit::viewer {

std::string column_heading(const views::Column& column) {
  const views::MetricName& name = column.name;
  if (column.derived) return column.title;
  std::string heading = name.event;
  if (name.statistic == views::Statistic::sum) {
    if (name.event == "REALTIME") return name.inclusive ? "time" : "self";
    if (name.event == "idleness") heading = "wait";
    if (column.blame) return name.inclusive ? "blame below" : "blame";
    return name.inclusive ? heading : heading + " self";
  }
  heading += ' ';
  heading += views::to_string(name.statistic);
  return name.inclusive ? heading : heading + " self";
}

}  // namespace culprit::viewer
