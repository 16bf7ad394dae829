#include "tui/widgets/tone.hpp"

namespace culprit::viewer::tui {
namespace {

using Looks = std::array<Look, kTones>;

Look& of(Looks& looks, Tone tone) {
  return looks.at(static_cast<std::size_t>(tone));
}

/// Without colours, by attributes alone.
Looks plain_looks() {
  Looks looks;
  of(looks, Tone::dim).dim = true;
  for (const Tone tone : {Tone::strong, Tone::heading, Tone::hot, Tone::key, Tone::code_word, Tone::warning,
                          Tone::series_a, Tone::link})
    of(looks, tone).bold = true;
  for (const Tone tone : {Tone::tab, Tone::match}) of(looks, tone).reverse = true;
  of(looks, Tone::link).underline = true;
  of(looks, Tone::code_comment).dim = true;
  return looks;
}

void colour(Looks& looks, Tone tone, int foreground, int background = -1) {
  of(looks, tone).foreground = foreground;
  of(looks, tone).background = background;
}

/// The eight that every colour terminal has; the user's own palette makes them fit the background.
Looks eight_colours(bool light) {
  constexpr int kBlack = 0, kRed = 1, kGreen = 2, kYellow = 3, kBlue = 4, kMagenta = 5, kCyan = 6, kWhite = 7;
  Looks looks = plain_looks();
  of(looks, Tone::dim).dim = false;
  of(looks, Tone::tab).reverse = false;
  of(looks, Tone::match).reverse = false;
  colour(looks, Tone::dim, light ? kBlue : kCyan);
  colour(looks, Tone::heading, light ? kBlue : kCyan);
  colour(looks, Tone::bar, kBlack, kCyan);
  colour(looks, Tone::key, kWhite, kBlue);
  colour(looks, Tone::tab, kWhite, kBlue);
  of(looks, Tone::tab).bold = true;
  colour(looks, Tone::hot, light ? kRed : kYellow);
  colour(looks, Tone::warm, light ? kMagenta : kYellow);
  colour(looks, Tone::warning, light ? kRed : kYellow);
  colour(looks, Tone::good, light ? kBlue : kCyan);
  colour(looks, Tone::match, kBlack, kYellow);
  colour(looks, Tone::series_a, light ? kBlue : kCyan);
  colour(looks, Tone::series_b, light ? kRed : kYellow);
  colour(looks, Tone::series_c, kMagenta);
  colour(looks, Tone::series_d, kGreen);
  colour(looks, Tone::code_word, light ? kBlue : kCyan);
  colour(looks, Tone::code_type, kGreen);
  colour(looks, Tone::code_text, kMagenta);
  colour(looks, Tone::code_number, kMagenta);
  colour(looks, Tone::code_comment, light ? kMagenta : kBlue);
  colour(looks, Tone::code_directive, kYellow);
  constexpr std::array<int, kHeats> ramp = {kBlue, kBlue, kCyan, kCyan, kYellow, kYellow, kWhite, kWhite};
  for (int level = 0; level < kHeats; ++level) {
    const int shade = light && ramp.at(static_cast<std::size_t>(level)) == kWhite
                          ? kRed
                          : ramp.at(static_cast<std::size_t>(level));
    colour(looks, heat_tone(level), shade);
  }
  const std::array<int, kParts> parts = {light ? kBlue : kCyan,
                                         light ? kRed : kYellow,
                                         kMagenta,
                                         kGreen,
                                         light ? kCyan : kBlue,
                                         light ? kYellow : kRed,
                                         light ? kBlack : kWhite,
                                         light ? kBlack : kWhite};
  for (int part = 0; part < kParts; ++part)
    colour(looks, part_tone(part), parts.at(static_cast<std::size_t>(part)));
  return looks;
}

/// The 6x6x6 cube and the greys of xterm. Series and parts after Okabe and Ito, shades after viridis.
Looks many_colours(bool light) {
  Looks looks = eight_colours(light);
  colour(looks, Tone::dim, light ? 243 : 245);
  colour(looks, Tone::heading, light ? 24 : 110);
  colour(looks, Tone::bar, light ? 236 : 250, light ? 252 : 236);
  colour(looks, Tone::key, light ? 24 : 117, light ? 252 : 236);
  colour(looks, Tone::tab, light ? 231 : 232, light ? 24 : 110);
  colour(looks, Tone::link, light ? 25 : 117);
  of(looks, Tone::link).bold = false;
  of(looks, Tone::link).underline = false;
  colour(looks, Tone::hot, light ? 130 : 215);
  colour(looks, Tone::warm, light ? 94 : 223);
  colour(looks, Tone::warning, light ? 130 : 215);
  colour(looks, Tone::good, light ? 25 : 75);
  colour(looks, Tone::match, 16, 222);
  colour(looks, Tone::series_a, light ? 25 : 75);
  colour(looks, Tone::series_b, light ? 166 : 214);
  colour(looks, Tone::series_c, light ? 29 : 79);
  colour(looks, Tone::series_d, light ? 132 : 182);
  colour(looks, Tone::code_word, light ? 25 : 110);
  colour(looks, Tone::code_type, light ? 29 : 79);
  colour(looks, Tone::code_text, light ? 130 : 180);
  colour(looks, Tone::code_number, light ? 132 : 182);
  colour(looks, Tone::code_comment, light ? 245 : 243);
  colour(looks, Tone::code_directive, light ? 94 : 223);
  constexpr std::array<int, kHeats> on_dark = {54, 60, 66, 30, 36, 71, 149, 226};
  constexpr std::array<int, kHeats> on_light = {255, 194, 150, 78, 36, 30, 24, 17};
  for (int level = 0; level < kHeats; ++level)
    colour(looks, heat_tone(level), (light ? on_light : on_dark).at(static_cast<std::size_t>(level)));
  constexpr std::array<int, kParts> parts_on_dark = {75, 214, 79, 182, 166, 117, 227, 245};
  constexpr std::array<int, kParts> parts_on_light = {25, 166, 29, 132, 94, 31, 178, 243};
  for (int part = 0; part < kParts; ++part)
    colour(looks, part_tone(part),
           (light ? parts_on_light : parts_on_dark).at(static_cast<std::size_t>(part)));
  return looks;
}

}  // namespace

int direct_colour(int palette) {
  constexpr int kKept = 8, kCube = 16, kGreys = 232;
  const auto grey = [](int level) { return level << 16 | level << 8 | level; };
  if (palette < kKept) return palette;
  if (palette < kCube) {  // the bright eight: dark grey, then full red, green and blue by bits
    const int bits = palette - kKept;
    constexpr int kDarkGrey = 0x7f;
    return bits == 0 ? grey(kDarkGrey)
                     : ((bits & 1) != 0 ? 0xff0000 : 0) | ((bits & 2) != 0 ? 0xff00 : 0) |
                           ((bits & 4) != 0 ? 0xff : 0);
  }
  if (palette >= kGreys) return grey(8 + 10 * (palette - kGreys));
  constexpr std::array<int, 6> kSteps = {0, 95, 135, 175, 215, 255};
  const int in_cube = palette - kCube;
  const auto step = [&](int by) { return kSteps.at(static_cast<std::size_t>(in_cube / by % 6)); };
  return step(36) << 16 | step(6) << 8 | step(1);
}

std::array<Look, kTones> looks_for(int colours, bool light) {
  constexpr int kFew = 8, kMany = 256;
  if (colours >= kMany) return many_colours(light);
  return colours >= kFew ? eight_colours(light) : plain_looks();
}

}  // namespace culprit::viewer::tui
