#include "text/prose.hpp"

#include "print/text.hpp"
#include "text/shorten.hpp"

#include <algorithm>

namespace culprit::viewer {
namespace {

/// Stands for a space that must not become a line break; occurs in no text of ours.
constexpr char kKept = '\x1f';

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Whether the space there groups the digits of a number, as grouped() does: `3 072`.
bool groups_digits(std::string_view text, std::size_t space) {
  constexpr std::size_t kDigits = 3;
  const std::string_view behind = text.substr(space + 1);
  const std::size_t digits =
      static_cast<std::size_t>(std::ranges::find_if_not(behind, is_digit) - behind.begin());
  return space > 0 && is_digit(text[space - 1]) && digits == kDigits;
}

/// Where the first word ends.
std::size_t end_of_word(std::string_view text) {
  std::size_t space = text.find(' ');
  while (space != std::string_view::npos && groups_digits(text, space)) space = text.find(' ', space + 1);
  return space;
}

}  // namespace

std::string keep(std::string_view text) {
  std::string result(text);
  std::replace(result.begin(), result.end(), ' ', kKept);
  return result;
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent, std::size_t first) {
  std::string result;
  std::size_t used = first;
  bool first_word = true;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, end_of_word(text));
    text.remove_prefix(word.size());
    const std::size_t length = columns(word);
    if (first_word) {
      result += word;
      used += length;
    } else if (used + 1 + length <= width) {
      result += ' ';
      result += word;
      used += 1 + length;
    } else {
      result += '\n' + std::string(indent, ' ');
      result += word;
      used = indent + length;
    }
    first_word = false;
  }
  return unwrapped(result);
}

std::string unwrapped(std::string_view text) {
  std::string result(text);
  std::replace(result.begin(), result.end(), kKept, ' ');
  return result;
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + print::shell_word(word);
  return line;
}

}  // namespace culprit::viewer
