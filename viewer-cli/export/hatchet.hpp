#pragma once

#include "views/column.hpp"
#include "views/figures.hpp"

#include <ostream>
#include <string>
#include <vector>

// For Hatchet: scopes without call sites and source lines (views::FoldedTree), in seconds or the metric's own
// unit. An exclusive figure is what no scope below has, so that exclusive figures add up to the total. The
// wall-clock time is called `time`, other metrics by their names; ` (inc)` marks inclusive ones.
namespace culprit::viewer {

/// A metric as Hatchet sees it.
struct HatchetMetric {
  std::string name;      ///< `time`, which Hatchet looks for, where it is the run's main metric and a time
  views::Column column;  ///< sum, inclusive
};

/// Those with values per thread, in the database's order.
std::vector<HatchetMetric> hatchet_metrics(const database::Contents& experiment);

/// The literal format (GraphFrame.from_literal): sums over all threads.
void write_hatchet(std::ostream& out, const views::Figures& figures);

}  // namespace culprit::viewer
