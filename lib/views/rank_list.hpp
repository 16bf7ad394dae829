#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::views {

/// Ranks from `0-3,8`: ascending, each once. Throws std::invalid_argument saying what is wrong.
std::vector<std::int32_t> parse_rank_list(std::string_view text);

/// The reverse, for people: `0-3, 8`. Takes them in any order; two neighbours stay two (`0, 1`).
std::string format_rank_list(std::span<const std::int32_t> ranks);

}  // namespace culprit::views
