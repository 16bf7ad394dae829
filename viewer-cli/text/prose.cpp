#include "text/prose.hpp"

#include "print/text.hpp"
#include "text/shorten.hpp"

#include <algorithm>

namespace culprit::viewer {
namespace {

/// Stands for a space that must not become a line break; occurs in no text of ours.
constexpr char kKept = '\x1f';

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
    const std::string_view word = text.substr(0, text.find(' '));
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
