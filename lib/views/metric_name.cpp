#include "views/metric_name.hpp"

#include <algorithm>
#include <cctype>

namespace culprit::views {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

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
