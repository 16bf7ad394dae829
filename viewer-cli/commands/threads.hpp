#pragma once

#include "text/frame_json.hpp"
#include "text/screen.hpp"
#include "views/column.hpp"
#include "views/frame.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace culprit::viewer {

/// One node's value for every selected thread, in location order, in the column's unit.
struct ThreadSeries {
  std::string title;               ///< what the node is called, on the screen
  std::vector<views::Frame> path;  ///< its call path
  views::Column column;
  std::vector<std::uint32_t> locations;
  std::vector<double> values;  ///< parallel to `locations`
};

/// Bars with minimum, mean and maximum; threads far from the others are marked. Many threads are shown in
/// groups of neighbours (their range and mean), with the outliers listed.
void write_threads(std::ostream& out, const Screen& screen, const database::Contents& experiment,
                   const ThreadSeries& series);

/// `{"node":path,"metric","unit","values":[{location…,"value"}]}`.
Json threads_json(const database::Contents& experiment, const ThreadSeries& series);

void write_threads_csv(std::ostream& out, const database::Contents& experiment, const ThreadSeries& series);

/// Which values lie far from the rest: more than 3.5 robust standard deviations (from the median absolute
/// deviation) and more than 5 % away from the median.
std::vector<bool> find_outliers(const std::vector<double>& values);

}  // namespace culprit::viewer
