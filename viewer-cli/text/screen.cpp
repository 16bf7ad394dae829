#include "text/screen.hpp"

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cstdlib>
#include <cstring>

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace culprit::viewer {
namespace {

constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kWidest = 400;

std::size_t width_of_terminal() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  std::size_t width = 0;
  const char* const text = std::getenv("COLUMNS");
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), width).ec != std::errc{}) return 0;
  return width;
}

}  // namespace

std::string Screen::paint(std::string_view code, std::string_view text) const {
  if (!colour || text.empty()) return std::string(text);
  return "\033[" + std::string(code) + 'm' + std::string(text) + "\033[0m";
}

std::string Screen::heat(double share, std::string_view text) const {
  if (share >= kHot) return paint("1;31", text);
  if (share >= kWarm) return paint("33", text);
  return std::string(text);
}

Screen find_screen() {
  Screen screen;
  const std::size_t width = width_of_terminal();
  if (width != 0) screen.width = std::clamp(width, kNarrowest, kWidest);
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  screen.colour = ::isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0') &&
                  terminal != nullptr && std::string_view(terminal) != "dumb";
  std::setlocale(LC_CTYPE, "");
  screen.unicode = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  return screen;
}

}  // namespace culprit::viewer
