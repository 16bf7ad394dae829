#pragma once

#include "database/contents.hpp"
#include "metrics/accumulator.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace culprit::views {

/// A figure that does not exist.
inline constexpr double kNotAvailable = std::numeric_limits<double>::quiet_NaN();

/// Of metrics and columns: whether they are one but for capital letters.
bool is_same_name(std::string_view a, std::string_view b);
/// Without spaces around it.
std::string_view trim(std::string_view text);

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

using Blame = database::BlameSums;

/// Blame by context (docs/algorithms.md 5.3), exclusive and inclusive.
class BlameIndex {
 public:
  /// `experiment` must outlive this.
  explicit BlameIndex(const database::Contents& experiment) : experiment_(experiment) {}

  /// B_E: idleness whose deepest balanced ancestor is `context`.
  [[nodiscard]] Blame exclusive(std::uint32_t role, database::ContextId context) const {
    return experiment_.blame.between(role, context, context + 1);
  }
  /// B_I: the same over the whole subtree.
  [[nodiscard]] Blame inclusive(std::uint32_t role, database::ContextId context) const {
    return experiment_.blame.between(role, context, experiment_.contexts[context].end);
  }

 private:
  const database::Contents& experiment_;
};

/// A metric or role that the database does not have, or a name that is none. what() is "why (what to do)".
class UnknownMetric : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Derived;

/// The figure that one column of a view shows.
struct Column {
  MetricName name;     ///< event spelled as the database does
  std::string title;   ///< `EVENT:STAT (I|E)`
  std::string unit;    ///< "s", "threads" for counts of observers, "ratio" for CV, else the metric's own
  double divisor = 1;  ///< from the database's unit to `unit`; a divisor keeps decimals clean
  std::uint32_t metric = 0;           ///< index of the experiment's metrics; meaningless where `blame`
  bool blame = false;                 ///< the metric `imbalance`
  bool min_over_all = false;          ///< the minimum counts threads without an observation as 0 (idleness)
  std::optional<std::uint32_t> role;  ///< set: only this role; not set: the sum over all roles

  std::shared_ptr<const Derived> derived;  ///< set: a formula over other columns; then there is no metric

  /// Whether shares of the total make sense: sums do, a coefficient of variation does not.
  [[nodiscard]] bool additive() const;
};

/// The metric named `imbalance` is this blame, whether or not the database lists it.
inline constexpr std::string_view kImbalance = "imbalance";

/// Finds the column that `text` (see parse_metric_name) names, ignoring case. Statistics other than sum and
/// count are per role: without `role` they are those of the main threads. Throws UnknownMetric.
Column find_column(const database::Contents& experiment, std::string_view text,
                   std::optional<std::uint32_t> role = std::nullopt);

/// The role that `name` names; throws UnknownMetric, listing those there are.
std::uint32_t find_role(const database::Contents& experiment, std::string_view name);

/// The role of the ranks' main threads (the first one where none is called main).
std::uint32_t main_role(const database::Contents& experiment);

/// The metric of exactly this name; empty where the experiment has none.
std::optional<std::uint32_t> metric_named(const database::Contents& experiment, std::string_view name);

/// The metric that a view shows unless another is asked for: REALTIME, or, where it was not sampled, the
/// first event that was.
std::uint32_t main_metric(const database::Contents& experiment);

/// The figure of a column from accumulators per role; `threads` is T per role. NaN where it does not exist.
double figure(const Column& column, std::span<const metrics::Accumulator> by_role,
              std::span<const std::uint64_t> threads);

/// The same for blame.
double figure(const Column& column, std::span<const Blame> by_role, std::span<const std::uint64_t> threads);

}  // namespace culprit::views
