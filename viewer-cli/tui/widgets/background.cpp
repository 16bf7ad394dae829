#include "tui/widgets/background.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace culprit::viewer::tui {
namespace {

constexpr std::array<std::string_view, 13> kTakers = {"xterm",   "tmux",  "screen",  "rxvt", "alacritty",
                                                      "foot",    "kitty", "konsole", "vte",  "gnome",
                                                      "wezterm", "st-",   "contour"};

/// A component of a colour, one to four hexadecimal digits, as a share of the most that they can say.
std::optional<double> component(std::string_view digits) {
  constexpr std::size_t kMostDigits = 4;
  constexpr int kHexadecimal = 16;
  unsigned value = 0;
  if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, kHexadecimal);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  const unsigned most = (1U << (4 * digits.size())) - 1;
  return static_cast<double>(value) / most;
}

}  // namespace

std::optional<bool> light_background_stated() {
  const char* const asked = std::getenv("CULPRIT_BACKGROUND");
  if (asked != nullptr && std::string_view(asked) == "light") return true;
  if (asked != nullptr && std::string_view(asked) == "dark") return false;
  // "foreground;background" or "foreground;default;background", numbers of the palette.
  const char* const said = std::getenv("COLORFGBG");
  if (said == nullptr) return std::nullopt;
  const std::string_view text(said);
  const std::string_view background =
      text.substr(text.rfind(';') == std::string_view::npos ? 0 : text.rfind(';') + 1);
  if (background.empty() || background == "default") return std::nullopt;
  return background == "7" || background == "15";
}

bool takes_questions(std::string_view terminal) {
  return std::any_of(kTakers.begin(), kTakers.end(),
                     [&](std::string_view taker) { return terminal.starts_with(taker); });
}

std::optional<bool> light_background_answered(std::string_view answer) {
  // 11;rgb:RRRR/GGGG/BBBB, of some terminals 11;rgba:RRRR/GGGG/BBBB/AAAA.
  constexpr std::array<std::string_view, 2> kBeginnings = {"11;rgb:", "11;rgba:"};
  const auto begins = std::find_if(kBeginnings.begin(), kBeginnings.end(),
                                   [&](std::string_view each) { return answer.starts_with(each); });
  if (begins == kBeginnings.end()) return std::nullopt;
  answer.remove_prefix(begins->size());
  constexpr std::array<double, 3> kWeights = {0.299, 0.587,
                                              0.114};  // how light the eye takes each colour for
  constexpr double kHalf = 0.5;
  double lightness = 0;
  for (const double weight : kWeights) {
    const std::size_t end = std::min(answer.find('/'), answer.size());
    const std::optional<double> value = component(answer.substr(0, end));
    if (!value) return std::nullopt;
    lightness += weight * *value;
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  return lightness > kHalf;
}

}  // namespace culprit::viewer::tui
