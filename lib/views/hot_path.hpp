#pragma once

#include "views/view.hpp"

#include <vector>

namespace culprit::views {

/// A step of the path that keeps most of a metric.
struct HotStep {
  NodeId node = 0;
  double value = 0;  ///< in the column's unit
  double share = 0;  ///< of the whole run
};

/// From the root of the calling context tree to the child with the largest figure, as long as that child
/// keeps at least `keep` of its parent's. Empty where the run has nothing of the metric.
std::vector<HotStep> hot_path(View& view, const Column& column, double whole, double keep = 0.5);

}  // namespace culprit::views
