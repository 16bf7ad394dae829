// Code points as UTF-8 (RFC 3629), and Punycode (RFC 3492). In Punycode the plain letters come first. Each
// other code point follows as a number: how many pairs of a code point and a place among the letters lie
// between it and the one before.
#include "structure/code_points.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace culprit::structure {
namespace {

constexpr std::size_t kMostLetters = 256;
constexpr std::uint64_t kLastCodePoint = 0x10FFFF;
constexpr std::uint64_t kFarthest = kLastCodePoint * kMostLetters;
constexpr std::uint64_t kBase = 36, kLeastThreshold = 1, kMostThreshold = 26, kSkew = 38, kDamp = 700;

/// The value of a digit in base 36.
std::optional<std::uint64_t> digit_of(char letter) {
  if (letter >= 'a' && letter <= 'z') return static_cast<std::uint64_t>(letter - 'a');
  if (letter >= '0' && letter <= '9') return static_cast<std::uint64_t>(letter - '0' + 26);
  return std::nullopt;
}

/// Takes the next number off `text`: its digits weigh the more the farther they are from its first.
std::optional<std::uint64_t> take_number(std::string_view& text, std::uint64_t bias) {
  std::uint64_t number = 0, weight = 1;
  for (std::uint64_t k = kBase; !text.empty(); k += kBase) {
    const std::optional<std::uint64_t> digit = digit_of(text.front());
    text.remove_prefix(1);
    if (!digit) return std::nullopt;
    number += *digit * weight;
    if (number > kFarthest) return std::nullopt;
    const std::uint64_t threshold = k <= bias ? kLeastThreshold : std::min(k - bias, kMostThreshold);
    if (*digit < threshold) return number;
    weight *= kBase - threshold;
    if (weight > kFarthest) return std::nullopt;
  }
  return std::nullopt;
}

/// Adapts the bias to the last `number`, after which there are `count` letters (RFC 3492, section 6.1).
std::uint64_t adapted_bias(std::uint64_t number, std::uint64_t count, bool first) {
  std::uint64_t delta = number / (first ? kDamp : 2);
  delta += delta / count;
  std::uint64_t bias = 0;
  for (; delta > (kBase - kLeastThreshold) * kMostThreshold / 2; bias += kBase)
    delta /= kBase - kLeastThreshold;
  return bias + (kBase - kLeastThreshold + 1) * delta / (delta + kSkew);
}

}  // namespace

bool add_utf8(std::string& text, std::uint64_t code) {
  if (code > kLastCodePoint || (code >= 0xD800 && code < 0xE000)) return false;
  const auto byte = [&text](std::uint64_t value) { text += static_cast<char>(value); };
  const auto rest = [&](unsigned shift) { byte(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0U | code >> 6U);
    rest(0);
  } else if (code < 0x10000) {
    byte(0xE0U | code >> 12U);
    rest(6);
    rest(0);
  } else {
    byte(0xF0U | code >> 18U);
    rest(12);
    rest(6);
    rest(0);
  }
  return true;
}

std::optional<std::string> decode_punycode(std::string_view text) {
  if (text.size() > kMostLetters) return std::nullopt;
  std::u32string letters;
  if (const std::size_t end = text.rfind('_'); end != std::string_view::npos) {
    for (const char letter : text.substr(0, end)) letters += static_cast<unsigned char>(letter);
    text.remove_prefix(end + 1);
  }
  if (text.empty()) return std::nullopt;
  std::uint64_t code = 0x80, bias = 72, place = 0;
  for (bool first = true; !text.empty(); first = false) {
    const std::optional<std::uint64_t> number = take_number(text, bias);
    if (!number || place + *number > kFarthest) return std::nullopt;
    place += *number;
    const std::uint64_t count = letters.size() + 1;
    bias = adapted_bias(*number, count, first);
    code += place / count;
    place %= count;
    if (code > kLastCodePoint) return std::nullopt;
    letters.insert(static_cast<std::size_t>(place++), 1, static_cast<char32_t>(code));
  }
  std::string name;
  for (const char32_t letter : letters)
    if (!add_utf8(name, letter)) return std::nullopt;
  return name;
}

}  // namespace culprit::structure
