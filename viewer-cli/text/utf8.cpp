#include "text/utf8.hpp"

#include <algorithm>
#include <cstddef>

namespace culprit::viewer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool between(char letter, unsigned low, unsigned high) {
  const auto byte = static_cast<unsigned char>(letter);
  return byte >= low && byte <= high;
}

/// How many bytes at the beginning of `text` encode one character; 0 where they encode none. By table 3-7 of
/// the Unicode standard, so without surrogates, overlong forms and what lies beyond U+10FFFF.
std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (!between(text[1], low, high)) return 0;
  const std::string_view rest = text.substr(2, length - 2);
  return std::ranges::all_of(rest, [](char letter) { return between(letter, 0x80, 0xBF); }) ? length : 0;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    result += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

}  // namespace culprit::viewer
