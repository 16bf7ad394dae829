#include "views/rank_list.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace culprit::views {
namespace {

/// Larger than any machine, small enough that `0-2147483647` cannot exhaust memory.
constexpr std::int32_t kLargestRank = 16'777'215;

std::int32_t parse_rank(std::string_view text, std::string_view all) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::int32_t rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc{} || end != text.data() + text.size() || rank < 0 || rank > kLargestRank) {
    throw std::invalid_argument("'" + std::string(all) + "' is not a list of ranks (write it like 0-3,8)");
  }
  return rank;
}

}  // namespace

std::vector<std::int32_t> parse_rank_list(std::string_view text) {
  std::vector<std::int32_t> ranks;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t dash = part.find('-');
    const std::size_t colon = dash == std::string_view::npos ? dash : part.find(':', dash);
    const std::int32_t first = parse_rank(part.substr(0, dash), text);
    const std::int32_t last =
        dash == std::string_view::npos ? first : parse_rank(part.substr(dash + 1, colon - dash - 1), text);
    const std::int32_t step = colon == std::string_view::npos ? 1 : parse_rank(part.substr(colon + 1), text);
    if (last < first) {
      throw std::invalid_argument("'" + std::string(part) +
                                  "' runs backwards (write the smaller rank first)");
    }
    if (step == 0) throw std::invalid_argument("'" + std::string(part) + "' has steps of 0");
    for (std::int32_t rank = first; rank <= last; rank += step) ranks.push_back(rank);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::vector<std::string> parts_of_ranks(std::span<const std::int32_t> ranks) {
  constexpr std::size_t kInARow = 3, kInSteps = 4;  // shorter ones read better one by one
  std::vector<std::int32_t> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<std::string> parts;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first;
    const std::int32_t step = first + 1 < sorted.size() ? sorted[first + 1] - sorted[first] : 1;
    while (last + 1 < sorted.size() && sorted[last + 1] - sorted[last] == step) ++last;
    if (last - first + 1 < (step == 1 ? kInARow : kInSteps)) last = first;
    std::string& part = parts.emplace_back(std::to_string(sorted[first]));
    if (last > first) part += '-' + std::to_string(sorted[last]);
    if (last > first && step > 1) part += ':' + std::to_string(step);
    first = last + 1;
  }
  return parts;
}

std::string format_rank_list(std::span<const std::int32_t> ranks) {
  std::string text;
  for (const std::string& part : parts_of_ranks(ranks)) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace culprit::views
