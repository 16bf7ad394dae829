#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::views {

/// Ranks from `0-3,8` or, in steps, `0-62:2`: ascending, each once. Throws std::invalid_argument saying what
/// is wrong.
std::vector<std::int32_t> parse_rank_list(std::string_view text);

/// The parts of the shortest such list, for people: `3`, `0-62`; of four ranks or more in equal steps,
/// `0-62:2`. Takes them in any order; two neighbours stay two (`0`, `1`).
std::vector<std::string> parts_of_ranks(std::span<const std::int32_t> ranks);

/// All of them: `0-3, 8`.
std::string format_rank_list(std::span<const std::int32_t> ranks);

}  // namespace culprit::views
