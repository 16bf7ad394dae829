#pragma once

#include "database/database.hpp"
#include "views/figures.hpp"
#include "views/view.hpp"
#include "views/visible.hpp"

#include <stdexcept>
#include <string_view>
#include <vector>

namespace culprit::views {

/// No node of the calling context tree is called that. what() is "why (what to do)".
class NoSuchNode : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The contexts that `path` names: frame names joined by `/`, from any frame downwards, e.g.
/// `cg_iterate/spmv`. Call sites, loops, inlined procedures, regions and start-up frames in between may be
/// left out; procedures may be named without their parameters, loops and statements as they are shown (`loop
/// at solver.c:412`, `solver.c:415`), and names may hold `/` themselves. Those with the most time first.
/// Throws NoSuchNode, saying which name of the path is not found.
std::vector<database::ContextId> find_contexts(const Figures& figures, std::string_view path);

/// A step of the path that keeps most of a metric.
struct HotStep {
  NodeId node = 0;
  double value = 0;  ///< in the column's unit
  double share = 0;  ///< of the whole run
};

/// From the root of the calling context tree to the child with the largest figure, as long as that child
/// keeps at least `keep` of its parent's. Empty where the run has nothing of the metric.
std::vector<HotStep> hot_path(View& view, const Column& column, double whole, double keep = 0.5);

/// The same path by the rows that people see.
std::vector<VisibleNode> hot_rows(View& view, const Column& column, const PassedOver& passed_over,
                                  double keep = 0.5);

}  // namespace culprit::views
