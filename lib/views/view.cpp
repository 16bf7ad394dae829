#include "views/view.hpp"

#include "views/derived.hpp"

#include <charconv>

namespace culprit::views {

double View::value(NodeId node, const Column& column) const {
  if (!column.derived) return measured(node, column);
  std::vector<double> values;
  for (const Column& operand : column.derived->operands()) values.push_back(value(node, operand));
  return column.derived->evaluate(values);
}

std::vector<double> per_thread(const View& view, NodeId node, const Column& column) {
  std::vector<double> result;
  if (!column.derived) {
    for (const std::uint64_t value : view.per_thread(node, column.metric, column.name.inclusive))
      result.push_back(static_cast<double>(value) / column.divisor);
    return result;
  }
  std::vector<std::vector<double>> operands;
  for (const Column& operand : column.derived->operands())
    operands.push_back(per_thread(view, node, operand));
  const std::size_t locations = operands.empty() ? 0 : operands.front().size();
  std::vector<double> values(operands.size());
  for (std::size_t location = 0; location < locations; ++location) {
    for (std::size_t i = 0; i < operands.size(); ++i) values[i] = operands[i][location];
    result.push_back(column.derived->evaluate(values));
  }
  return result;
}

std::optional<std::uint32_t> parse_index(std::string_view text, std::size_t limit) {
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size() || index >= limit) return std::nullopt;
  return index;
}

}  // namespace culprit::views
