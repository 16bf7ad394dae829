#include "export/hatchet_metrics.hpp"

namespace culprit::viewer {

std::vector<HatchetMetric> hatchet_metrics(const database::Contents& experiment) {
  std::vector<HatchetMetric> metrics;
  const std::uint32_t main = views::main_metric(experiment);
  for (std::uint32_t number = 0; number < experiment.metrics.size(); ++number) {
    const database::Metric& metric = experiment.metrics[number];
    if (metric.summary_only) continue;
    metrics.push_back({number == main && metric.unit == "ns" ? "time" : metric.name,
                       views::find_column(experiment, metric.name + ":sum (I)")});
  }
  return metrics;
}

}  // namespace culprit::viewer
