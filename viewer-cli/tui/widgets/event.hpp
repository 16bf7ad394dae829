#pragma once

#include <cstdint>

namespace culprit::viewer::tui {

enum class Key : std::uint8_t {
  none,
  letter,  ///< see Event::letter
  up,
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  end,
  enter,
  tab,
  back_tab,
  escape,
  backspace,
  remove,
  function,  ///< see Event::number
  click,     ///< see Event::row and column
  click_twice,
  wheel_up,
  wheel_down,
};

/// What the user did.
struct Event {
  Key key = Key::none;
  char32_t letter = 0;
  int number = 0;  ///< of a function key
  int row = 0, column = 0;

  [[nodiscard]] bool is(char32_t which) const { return key == Key::letter && letter == which; }
};

/// Control and a letter, as terminals send it.
constexpr char32_t control(char letter) {
  return static_cast<char32_t>(letter) & 0x1fU;
}

/// For keyboards alike: vi's and less's letters as the keys they stand for, where nothing else is typed.
Event navigation(const Event& event);

}  // namespace culprit::viewer::tui
