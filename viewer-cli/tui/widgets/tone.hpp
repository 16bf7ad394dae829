#pragma once

#include <array>
#include <cstdint>

namespace culprit::viewer::tui {

/// What a cell of the screen means; the terminal chooses colours and attributes for it (looks_for()).
enum class Tone : std::uint8_t {
  plain,
  dim,      ///< guides, places, what is secondary
  strong,   ///< what matters
  heading,  ///< of columns and sections
  bar,      ///< tab and hint bars
  tab,      ///< the current tab
  key,      ///< a key in a hint
  selected,
  hot,    ///< a large share
  warm,   ///< a notable share
  link,   ///< Enter goes there
  match,  ///< of a search
  warning,
  good,
  series_a,  ///< of a graph; distinguished without red and green
  series_b,
  series_c,
  series_d,
  code_word,  ///< of source text
  code_type,
  code_text,
  code_number,
  code_comment,
  code_directive,
  heat_0,  ///< shades from little to much, in equal steps of lightness
  heat_1,
  heat_2,
  heat_3,
  heat_4,
  heat_5,
  heat_6,
  heat_7,
  part_0,  ///< what there is side by side: code, calls
  part_1,
  part_2,
  part_3,
  part_4,
  part_5,
  part_6,
  part_7,
};
inline constexpr int kTones = static_cast<int>(Tone::part_7) + 1;
inline constexpr int kHeats = 8;
inline constexpr int kParts = 8;
inline constexpr int kSeries = 4;

/// Heats distinguished by shape.
inline constexpr std::array<char32_t, kHeats> kHeatBlocks = {U'▁', U'▂', U'▃', U'▄', U'▅', U'▆', U'▇', U'█'};
inline constexpr std::array<char32_t, kHeats> kHeatLetters = {U'.', U':', U'-', U'=', U'+', U'*', U'#', U'@'};

constexpr Tone heat_tone(int level) {
  return static_cast<Tone>(static_cast<int>(Tone::heat_0) + level);
}
constexpr Tone part_tone(int part) {
  return static_cast<Tone>(static_cast<int>(Tone::part_0) + part % kParts);
}
constexpr Tone series_tone(int series) {
  return static_cast<Tone>(static_cast<int>(Tone::series_a) + series % kSeries);
}

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
