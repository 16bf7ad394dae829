#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace culprit::views {

enum class Statistic : std::uint8_t { sum, mean, min, max, stddev, cv, count };

/// Their names, in this order.
inline constexpr std::array<std::string_view, 7> kStatistics = {"sum",    "mean", "min",  "max",
                                                                "stddev", "cv",   "count"};

/// A metric as the user names it: `EVENT:STAT (I|E)`.
struct MetricName {
  std::string event;
  Statistic statistic = Statistic::sum;
  bool inclusive = true;

  friend bool operator==(const MetricName&, const MetricName&) = default;
};

/// Reads `EVENT[:STAT] [(I)|(E)]`, forgiving case and spaces; the statistic defaults to sum, the scope to
/// inclusive. PAPI names may hold colons (`perf::TASK-CLOCK:mean`): only a last part that is a statistic is
/// taken for one. Empty where nothing is left for the event or the scope is neither I nor E.
std::optional<MetricName> parse_metric_name(std::string_view text);

/// `EVENT:STAT (I|E)`.
std::string to_string(const MetricName& name);

std::string_view to_string(Statistic statistic);

}  // namespace culprit::views
