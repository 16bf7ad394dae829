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

std::optional<std::uint32_t> parse_index(std::string_view text, std::size_t limit) {
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size() || index >= limit) return std::nullopt;
  return index;
}

}  // namespace culprit::views
