#include "print/text.hpp"

#include "print/printable.hpp"
#include "print/shell_word.hpp"

#include <cstddef>

namespace culprit::print {
namespace {

/// Without a branch per byte, so that compilers make vectors of it.
bool is_plain_ascii(std::string_view text) {
  unsigned other = 0;
  for (const char letter : text)
    other |= static_cast<unsigned>(static_cast<unsigned char>(static_cast<unsigned char>(letter) - 0x20U) >=
                                   0x5FU);
  return other == 0;
}

}  // namespace

bool is_spelled(std::string_view text) {
  if (is_plain_ascii(text)) return true;
  while (!text.empty()) {
    const Character first = first_character(text.data(), text.size());
    if (!first.encoded || !is_printable(first.code)) return false;
    text.remove_prefix(first.length);
  }
  return true;
}

std::string spelled(std::string_view text) {
  if (is_spelled(text)) return std::string(text);
  std::string result;
  result.reserve(text.size());
  spell(text.data(), text.size(), [&result](char letter) { result += letter; });
  return result;
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return std::to_string(number).append(1, ' ').append(noun).append(number == 1 ? "" : "s");
}

std::string shell_word(std::string_view word) {
  std::string result;
  quote_for_shell(word.data(), word.size(), [&result](char letter) { result += letter; });
  return result;
}

std::string shell_path(std::string_view path) {
  std::string result;
  quote_path_for_shell(path.data(), path.size(), [&result](char letter) { result += letter; });
  return result;
}

}  // namespace culprit::print
