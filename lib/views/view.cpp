#include "views/view.hpp"

#include <charconv>

namespace culprit::views {

std::optional<std::uint32_t> parse_index(std::string_view text, std::size_t limit) {
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size() || index >= limit) return std::nullopt;
  return index;
}

}  // namespace culprit::views
