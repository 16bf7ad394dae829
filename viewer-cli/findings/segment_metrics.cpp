// Compares what was counted in the segments of a variation with their times (docs/algorithms.md 9): medians
// of all and of the long ones, Pearson's correlation with the SOS-time, and segments in which a metric is
// unusually high. That is the same test as for SOS-times; but a count varies by the square root of its mean
// without any reason, so that its deviation is at least the root of the median. The last segment of each rank
// is left out.
#include "findings/segment_metrics.hpp"

#include "request/errors.hpp"
#include "spelling/closest.hpp"
#include "text/quantity.hpp"
#include "views/column.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace culprit::viewer {
namespace {

using database::Variation;

/// Of a normal distribution: its standard deviation in median absolute deviations; and how many of them make
/// an outlier, as in lib/waits/variation/variation.cpp.
constexpr double kScaled = 1.4826;
constexpr double kUnusual = 5;
/// Deviations below this share of the median are noise.
constexpr double kLeastDeviation = 0.01;

/// Calls visit(rank, segment, SOS-time, value) for all but the last segment of each rank.
template <class Visit>
void for_segments(const Variation& variation, std::size_t metric, Visit visit) {
  for (const Variation::Row& row : variation.rows) {
    for (std::uint32_t i = 0; i + 1 < row.sos_ns.size(); ++i)
      visit(row.rank, i, row.sos_ns[i], row.values[metric][i]);
  }
}

std::uint64_t median(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Pearson's coefficient, in two passes: values may be large and alike.
std::optional<double> correlation(const Variation& variation, std::size_t metric) {
  double count = 0, mean_x = 0, mean_y = 0;
  for_segments(variation, metric, [&](std::int32_t, std::uint32_t, std::uint64_t ns, std::uint64_t value) {
    ++count;
    mean_x += (static_cast<double>(ns) - mean_x) / count;
    mean_y += (static_cast<double>(value) - mean_y) / count;
  });
  double xx = 0, yy = 0, xy = 0;
  for_segments(variation, metric, [&](std::int32_t, std::uint32_t, std::uint64_t ns, std::uint64_t value) {
    const double x = static_cast<double>(ns) - mean_x;
    const double y = static_cast<double>(value) - mean_y;
    xx += x * x;
    yy += y * y;
    xy += x * y;
  });
  if (!(xx > 0 && yy > 0)) return std::nullopt;
  return std::clamp(xy / std::sqrt(xx) / std::sqrt(yy), -1.0, 1.0);
}

SegmentMetric describe(const database::Contents& experiment, const Variation& variation, std::size_t index) {
  const database::Metric& metric = experiment.metrics[experiment.trace().metrics[index]];
  const bool time = metric.unit == "ns";
  SegmentMetric made{.index = index,
                     .name = metric.name,
                     .unit = time ? "s" : metric.unit,
                     .divisor = time ? kNsPerSecond : 1,
                     .median = 0,
                     .median_of_long = {},
                     .correlation = correlation(variation, index)};
  std::set<std::pair<std::int32_t, std::uint32_t>> took_long;
  for (const Variation::Outlier& one : variation.outliers) took_long.emplace(one.rank, one.segment);
  std::vector<std::uint64_t> all, of_long;
  for_segments(variation, index,
               [&](std::int32_t rank, std::uint32_t segment, std::uint64_t, std::uint64_t value) {
                 all.push_back(value);
                 if (took_long.contains({rank, segment})) of_long.push_back(value);
               });
  made.median = median(std::move(all));
  if (!of_long.empty()) made.median_of_long = median(std::move(of_long));
  return made;
}

}  // namespace

std::vector<SegmentMetric> segment_metrics(const database::Contents& experiment, const Variation& variation) {
  std::vector<SegmentMetric> metrics;
  const std::size_t count = experiment.trace().metrics.size();
  metrics.reserve(count);
  for (std::size_t i = 0; i < count; ++i) metrics.push_back(describe(experiment, variation, i));
  return metrics;
}

SegmentMetric segment_metric(const database::Contents& experiment, const Variation& variation,
                             const std::string& name) {
  std::vector<std::string> names;
  for (const SegmentMetric& metric : segment_metrics(experiment, variation)) {
    if (metric.name == name) return metric;
    names.push_back(metric.name);
  }
  if (names.empty() && (views::metric_named(experiment, name) || name == views::kImbalance)) {
    throw UsageError("--metric: " + name +
                     ": is no event that the time lines hold (leave it out: times of iterations need none)");
  }
  if (names.empty()) {
    throw UsageError(
        "--metric: " + name +
        ": the time lines of this run hold no events but REALTIME (measure with hpcrun-lite -e " +
        "REALTIME," + name + " --trace)");
  }
  std::string list;
  for (const std::string& one : names) list += (list.empty() ? "" : ", ") + one;
  throw UsageError("--metric: no such metric: '" + name + "' (" + spelling::did_you_mean(name, names) +
                   "choose one of: " + list + ")");
}

database::ContextId context_of(const Variation::Row& row, std::size_t metric, std::size_t segment) {
  return row.contexts.empty() ? database::kNone : row.contexts[metric][segment];
}

std::vector<HighSegment> high_segments(const Variation& variation, const SegmentMetric& metric) {
  const auto middle = static_cast<double>(metric.median);
  std::vector<std::uint64_t> deviations;
  for_segments(variation, metric.index, [&](std::int32_t, std::uint32_t, std::uint64_t, std::uint64_t value) {
    deviations.push_back(value > metric.median ? value - metric.median : metric.median - value);
  });
  double deviation =
      std::max(kScaled * static_cast<double>(median(std::move(deviations))), kLeastDeviation * middle);
  if (metric.unit != "s") deviation = std::max(deviation, std::sqrt(std::max(middle, 1.0)));
  const double limit = middle + kUnusual * deviation;
  std::vector<HighSegment> high;
  for (const Variation::Row& row : variation.rows) {
    for (std::uint32_t i = 0; i + 1 < row.sos_ns.size(); ++i) {
      const std::uint64_t value = row.values[metric.index][i];
      if (static_cast<double>(value) > limit)
        high.push_back({row.rank, i, value, context_of(row, metric.index, i)});
    }
  }
  std::ranges::stable_sort(high, std::ranges::greater(), &HighSegment::value);
  return high;
}

}  // namespace culprit::viewer
