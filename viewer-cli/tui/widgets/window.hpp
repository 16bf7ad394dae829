#pragma once

#include <algorithm>
#include <cstddef>

namespace culprit::viewer::tui {

/// The part of a sequence that a graph shows, and the cursor in it.
struct Window {
  std::size_t first = 0, count = 0;  ///< count 0: everything
  std::size_t cursor = 0;

  [[nodiscard]] std::size_t shown(std::size_t all) const { return count == 0 ? all : std::min(count, all); }

  void fit(std::size_t all) {
    cursor = all == 0 ? 0 : std::min(cursor, all - 1);
    if (count >= all) count = 0;
    if (count == 0) first = 0;
    first = std::min(first, all - shown(all));
    if (cursor < first) first = cursor;
    if (cursor >= first + shown(all) && all > 0) first = cursor - shown(all) + 1;
  }

  /// Shows half as much (twice as much) around the cursor.
  void zoom(bool in, std::size_t all) {
    constexpr std::size_t kLeast = 4;
    const std::size_t now = shown(all);
    const std::size_t next = in ? std::max(now / 2, std::min(kLeast, all)) : now * 2;
    count = next >= all ? 0 : next;
    first = cursor > shown(all) / 2 ? cursor - shown(all) / 2 : 0;
    fit(all);
  }

  void move(std::ptrdiff_t by, std::size_t all) {
    const auto to = static_cast<std::ptrdiff_t>(cursor) + by;
    cursor = to < 0 ? 0 : static_cast<std::size_t>(to);
    fit(all);
  }
};

}  // namespace culprit::viewer::tui
