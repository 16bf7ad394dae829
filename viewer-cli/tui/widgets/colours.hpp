#pragma once

#include "tui/widgets/tone.hpp"

#include <array>

namespace culprit::viewer::tui {

/// How a tone looks. Colours are numbers of the terminal's palette, -1 its own.
struct Look {
  int foreground = -1, background = -1;
  bool bold = false, dim = false, reverse = false, underline = false;
};

/// How tones look on a terminal with `colours` colours (0 or 1: none). Colours that mean something differ in
/// lightness too, and red never stands against green. `light`: the background is.
std::array<Look, kTones> looks_for(int colours, bool light);

/// A number of xterm's palette of 256 as 0xRRGGBB, for terminals without one; -1 and the first eight, which
/// such terminals keep, stay.
int direct_colour(int palette);

}  // namespace culprit::viewer::tui
