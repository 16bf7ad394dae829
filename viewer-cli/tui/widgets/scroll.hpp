#pragma once

#include "tui/widgets/event.hpp"

#include <algorithm>

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

}  // namespace culprit::viewer::tui
