#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::viewer {

/// Wraps words at `width` columns; the text begins in column `first`, further lines with `indent` spaces.
/// Neither keep() spaces nor those that group digits break.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent = 0, std::size_t first = 0);

/// Text whose spaces wrap() must not break at: numbers with their units, names.
std::string keep(std::string_view text);

/// The same text for those who break lines themselves: all spaces are spaces.
std::string unwrapped(std::string_view text);

/// As a sentence begins.
std::string capitalized(std::string text);

/// The words of a command as one types them in a shell.
std::string shell_line(const std::vector<std::string>& words);

/// `a`, `a and b`, `a, b and c`.
template <class Texts>
std::string enumerate(const Texts& texts) {
  std::string result;
  std::size_t index = 0;
  for (const std::string& text : texts) {
    if (index != 0) result += index + 1 == texts.size() ? " and " : ", ";
    result += text;
    ++index;
  }
  return result;
}

}  // namespace culprit::viewer
