#pragma once

#include "tui/widgets/event.hpp"

#include <algorithm>
#include <cstddef>

namespace culprit::viewer::tui {

/// A cursor in a list of rows and the part of the list that is shown.
struct Scroll {
  int cursor = 0, top = 0;
  int page = 20;  ///< rows shown, as last drawn

  /// Moves by a key as lists do; false: it is no such key. `rows`: how many there are.
  bool move(const Event& event, int rows) {
    constexpr int kWheel = 3;
    const int last = std::max(rows - 1, 0);
    switch (event.key) {
      case Key::up:
        cursor = std::max(cursor - 1, 0);
        return true;
      case Key::down:
        cursor = std::min(cursor + 1, last);
        return true;
      case Key::page_up:
        cursor = std::max(cursor - std::max(page - 1, 1), 0);
        return true;
      case Key::page_down:
        cursor = std::min(cursor + std::max(page - 1, 1), last);
        return true;
      case Key::wheel_up:
        cursor = std::max(cursor - kWheel, 0);
        return true;
      case Key::wheel_down:
        cursor = std::min(cursor + kWheel, last);
        return true;
      case Key::home:
        cursor = 0;
        return true;
      case Key::end:
        cursor = last;
        return true;
      default:
        return false;
    }
  }

  /// Before drawing: the cursor stays within the list and on the screen.
  void fit(int rows, int height) {
    page = std::max(height, 1);
    cursor = std::clamp(cursor, 0, std::max(rows - 1, 0));
    top = std::clamp(top, std::max(cursor - page + 1, 0), cursor);
    top = std::clamp(top, 0, std::max(rows - page, 0));
  }
};

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
