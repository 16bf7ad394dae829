// The hot path (docs/algorithms.md 17): from the root to the largest child while that keeps most of its
// parent.
#include "views/hot_path.hpp"

#include <cmath>

namespace culprit::views {

std::vector<HotStep> hot_path(View& view, const Column& column, double whole, double keep) {
  std::vector<HotStep> path;
  double parent = 0;
  for (std::vector<NodeId> level = view.roots(); !level.empty(); level = view.children(path.back().node)) {
    HotStep best;
    bool found = false;
    for (const NodeId node : level) {
      const double value = view.value(node, column);
      if (std::isnan(value) || value <= 0 || (found && value <= best.value)) continue;
      best = {node, value, whole > 0 ? value / whole : 0};
      found = true;
    }
    if (!found || (!path.empty() && best.value < keep * parent)) break;
    path.push_back(best);
    parent = best.value;
  }
  return path;
}

}  // namespace culprit::views
