// Words that a user can copy from a message into a shell. Nothing here allocates, locks or calls: the runtime
// includes it too.
#pragma once

#include "print/printable.hpp"

#include <cstddef>

namespace culprit::print {

/// Whether a shell takes the character for itself wherever it stands in a word.
constexpr bool is_plain_in_shells(char32_t code) {
  const auto between = [code](char32_t low, char32_t high) { return low <= code && code <= high; };
  if (between('a', 'z') || between('A', 'Z') || between('0', '9')) return true;
  for (const char* plain = "_@%+:,./-="; *plain != '\0'; ++plain)
    if (code == static_cast<unsigned char>(*plain)) return true;
  return code >= 0x80 && is_printable(code);
}

/// Calls `put` with each byte of `word` as one types it in a shell: as it is, in '…', or, where it holds what
/// cannot be printed, in $'…'. Async-signal-safe if `put` is.
template <class Put>
constexpr void quote_for_shell(const char* word, std::size_t size, Put put) {
  bool plain = size > 0;
  bool printable = true;
  for (std::size_t at = 0; at < size;) {
    const Character each = first_character(word + at, size - at);
    printable = printable && each.encoded && is_printable(each.code);
    plain = plain && each.encoded && is_plain_in_shells(each.code);
    at += each.length;
  }
  // zsh expands a word that begins with `=`.
  if (plain && word[0] != '=') {
    for (std::size_t at = 0; at < size; ++at) put(word[at]);
    return;
  }
  const auto put_all = [&put](const char* text) {
    while (*text != '\0') put(*text++);
  };
  put_all(printable ? "'" : "$'");
  for (std::size_t at = 0; at < size;) {
    const Character each = first_character(word + at, size - at);
    for (std::size_t end = at + each.length; at < end; ++at) {
      const auto byte = static_cast<unsigned char>(word[at]);
      if (printable) {
        byte == '\'' ? put_all("'\\''") : put(word[at]);
      } else if (each.encoded && is_printable(each.code)) {
        if (byte == '\'' || byte == '\\') put('\\');
        put(word[at]);
      } else {
        // Three octal digits: all shells that know $'…' end them alike.
        put('\\');
        put(static_cast<char>('0' + (byte >> 6U)));
        put(static_cast<char>('0' + (byte >> 3U & 7U)));
        put(static_cast<char>('0' + (byte & 7U)));
      }
    }
  }
  put('\'');
}

/// The same of a path, which no command may take for an option.
template <class Put>
constexpr void quote_path_for_shell(const char* path, std::size_t size, Put put) {
  if (size > 0 && path[0] == '-') {
    put('.');
    put('/');
  }
  quote_for_shell(path, size, put);
}

}  // namespace culprit::print
