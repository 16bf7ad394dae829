#pragma once

#include "views/column.hpp"

#include <string>
#include <vector>

namespace culprit::viewer {

/// A metric as Hatchet sees it.
struct HatchetMetric {
  std::string name;      ///< `time`, which Hatchet looks for, where it is the run's main metric and a time
  views::Column column;  ///< sum, inclusive
};

/// Those with values per thread, in the database's order.
std::vector<HatchetMetric> hatchet_metrics(const database::Contents& experiment);

}  // namespace culprit::viewer
