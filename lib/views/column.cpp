// Reads metrics as users write them, `EVENT:STAT (I|E)`, and forms a column's figure from the accumulators of
// each role (docs/algorithms.md 2). Sums and numbers of observers add up over roles. Other statistics are
// those of one role, by default of the ranks' main threads, since threads of several roles do different work.
// The minimum of idleness is over all threads, observers or not.
#include "views/column.hpp"

#include "spelling/closest.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

namespace culprit::views {

bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

namespace {

constexpr double kNsPerSecond = 1e9;

std::string known_metrics(const database::Contents& experiment) {
  std::string names;
  for (const database::Metric& metric : experiment.metrics) {
    if (metric.name != kImbalance) names += metric.name + ", ";
  }
  return names + std::string(kImbalance);
}

/// Every metric, alone and with each statistic: for spelling.
std::vector<std::string> spelt_metrics(const database::Contents& experiment) {
  std::vector<std::string> events;
  for (const database::Metric& metric : experiment.metrics) events.push_back(metric.name);
  events.emplace_back(kImbalance);
  std::vector<std::string> names = events;
  for (const std::string& event : events) {
    for (const std::string_view statistic : kStatistics)
      names.push_back(event + ':' + std::string(statistic));
  }
  return names;
}

void set_unit(Column& column, const std::string& unit) {
  switch (column.name.statistic) {
    case Statistic::count:
      column.unit = "threads";
      return;
    case Statistic::cv:
      column.unit = "ratio";
      return;
    default:
      break;
  }
  const bool time = unit == "ns";
  column.unit = time ? "s" : unit;
  column.divisor = time ? kNsPerSecond : 1;
}

double statistic(const Column& column, const metrics::Accumulator& accumulator, std::uint64_t threads) {
  const metrics::Statistics all = column.min_over_all ? metrics::finalize_over_all(accumulator, threads)
                                                      : metrics::finalize(accumulator, threads);
  switch (column.name.statistic) {
    case Statistic::sum:
      return all.sum;
    case Statistic::mean:
      return all.mean;
    case Statistic::min:
      return all.min;
    case Statistic::max:
      return all.max;
    case Statistic::stddev:
      return all.stddev;
    case Statistic::cv:
      return all.cv;
    case Statistic::count:
      return static_cast<double>(all.count);
  }
  return kNotAvailable;
}

double statistic(const Column& column, const Blame& blame, std::uint64_t threads) {
  switch (column.name.statistic) {
    case Statistic::sum:
      return static_cast<double>(blame.sum);
    case Statistic::mean:
      return threads == 0 ? 0 : static_cast<double>(blame.sum) / static_cast<double>(threads);
    case Statistic::min:
      return static_cast<double>(blame.min);
    case Statistic::max:
      return static_cast<double>(blame.max);
    default:
      return kNotAvailable;
  }
}

template <class Summary>
double figure_of(const Column& column, std::span<const Summary> by_role,
                 std::span<const std::uint64_t> threads) {
  if (column.role) {
    if (*column.role >= by_role.size()) return 0;
    return statistic(column, by_role[*column.role], threads[*column.role]) / column.divisor;
  }
  double sum = 0;
  for (std::size_t role = 0; role < by_role.size(); ++role)
    sum += statistic(column, by_role[role], threads[role]);
  return sum / column.divisor;
}

}  // namespace

bool Column::additive() const {
  return !derived && (name.statistic == Statistic::sum || name.statistic == Statistic::mean);
}

std::uint32_t main_role(const database::Contents& experiment) {
  for (std::uint32_t role = 0; role < experiment.roles.size(); ++role) {
    if (experiment.roles[role].name == "main") return role;
  }
  return 0;
}

std::uint32_t find_role(const database::Contents& experiment, std::string_view name) {
  std::string list;
  std::vector<std::string> names;
  for (std::uint32_t role = 0; role < experiment.roles.size(); ++role) {
    if (experiment.roles[role].name == name) return role;
    names.push_back(experiment.roles[role].name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  throw UnknownMetric("no threads have the role '" + std::string(name) + "' (" +
                      spelling::did_you_mean(name, names) + "there are: " + list + ")");
}

std::optional<std::uint32_t> metric_named(const database::Contents& experiment, std::string_view name) {
  for (std::uint32_t metric = 0; metric < experiment.metrics.size(); ++metric) {
    if (experiment.metrics[metric].name == name) return metric;
  }
  return std::nullopt;
}

std::uint32_t main_metric(const database::Contents& experiment) {
  // Events are described as NAME@PERIOD.
  if (experiment.run.period_ns == 0) {
    for (const std::string& event : experiment.run.events) {
      if (const auto metric = metric_named(experiment, event.substr(0, event.rfind('@')))) return *metric;
    }
  }
  return metric_named(experiment, "REALTIME").value_or(0);
}

Column find_column(const database::Contents& experiment, std::string_view text,
                   std::optional<std::uint32_t> role) {
  const std::optional<MetricName> name = parse_metric_name(text);
  if (!name) {
    throw UnknownMetric(
        "'" + std::string(text) +
        "' names no metric (write it like REALTIME:sum (I); there are: " + known_metrics(experiment) + ")");
  }
  Column column;
  column.name = *name;
  column.role = role;
  if (is_same_name(name->event, kImbalance)) {
    column.blame = true;
    column.name.event = kImbalance;
    set_unit(column, "ns");
  } else {
    const auto found =
        std::find_if(experiment.metrics.begin(), experiment.metrics.end(),
                     [&](const database::Metric& metric) { return is_same_name(metric.name, name->event); });
    if (found == experiment.metrics.end()) {
      throw UnknownMetric("there is no metric '" + name->event + "' here (" +
                          spelling::did_you_mean(name->event, spelt_metrics(experiment)) +
                          "there are: " + known_metrics(experiment) + ")");
    }
    column.metric = static_cast<std::uint32_t>(found - experiment.metrics.begin());
    column.name.event = found->name;
    column.min_over_all = found->name == "idleness";
    set_unit(column, found->unit);
  }
  const bool over_roles = name->statistic == Statistic::sum || name->statistic == Statistic::count;
  if (!column.role && !over_roles) column.role = main_role(experiment);
  column.title = to_string(column.name);
  return column;
}

double figure(const Column& column, std::span<const metrics::Accumulator> by_role,
              std::span<const std::uint64_t> threads) {
  return figure_of(column, by_role, threads);
}

double figure(const Column& column, std::span<const Blame> by_role, std::span<const std::uint64_t> threads) {
  return figure_of(column, by_role, threads);
}

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// Cuts a trailing `(I)` or `(E)`. Empty: something else stands in the parentheses.
std::optional<bool> cut_scope(std::string_view& text) {
  if (!text.ends_with(')')) return true;
  const std::size_t open = text.rfind('(');
  if (open == std::string_view::npos) return std::nullopt;
  const std::string scope = lower(trim(text.substr(open + 1, text.size() - open - 2)));
  text = trim(text.substr(0, open));
  if (scope == "i") return true;
  if (scope == "e") return false;
  return std::nullopt;
}

Statistic cut_statistic(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Statistic::sum;
  const auto* const found =
      std::find(kStatistics.begin(), kStatistics.end(), lower(trim(text.substr(colon + 1))));
  if (found == kStatistics.end()) return Statistic::sum;
  text = trim(text.substr(0, colon));
  return static_cast<Statistic>(found - kStatistics.begin());
}

}  // namespace

std::optional<MetricName> parse_metric_name(std::string_view text) {
  text = trim(text);
  const std::optional<bool> inclusive = cut_scope(text);
  if (!inclusive) return std::nullopt;
  MetricName name;
  name.inclusive = *inclusive;
  name.statistic = cut_statistic(text);
  if (text.empty()) return std::nullopt;
  name.event = text;
  return name;
}

std::string_view to_string(Statistic statistic) {
  return kStatistics.at(static_cast<std::size_t>(statistic));
}

std::string to_string(const MetricName& name) {
  return name.event + ':' + std::string(to_string(name.statistic)) + (name.inclusive ? " (I)" : " (E)");
}

}  // namespace culprit::views
