// What may come out of a tool. Names of functions, regions, files, programs, hosts, and arguments hold
// whatever somebody put there; printed as they are, control characters move the cursor, retitle the window or
// answer for the user, and characters that change the direction of writing make one name look like another.
// So every string that a program, a file or a command line brought is *spelled*: what is printable stays as
// it is, byte for byte; a character that is not is written as JSON and C++ escape it (`\n`, `\u001b`,
// `\u202e`), a byte that is no UTF-8 as `\xff`.
//
// Nothing here allocates, locks or calls: the runtime includes it too.
#pragma once

#include <cstddef>

namespace culprit::print {

/// The character that a text begins with.
struct Character {
  char32_t code = 0;
  std::size_t length = 1;  ///< bytes; 1 where `encoded` is false
  bool encoded = false;    ///< false: the first byte begins no UTF-8, or what it begins is cut off
};

/// By table 3-7 of the Unicode standard, so without surrogates, overlong forms and what lies beyond U+10FFFF.
/// `size` is at least 1. Async-signal-safe.
constexpr Character first_character(const char* text, std::size_t size) {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || size < length) return {lead, 1, false};
  char32_t code = lead & (0x7FU >> length);
  for (std::size_t at = 1; at < length; ++at) {
    const unsigned low = at > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = at > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(at) < low || byte(at) > high) return {lead, 1, false};
    code = (code << 6U) | (byte(at) & 0x3FU);
  }
  return {code, length, true};
}

/// Whether a terminal draws the character in its place and does nothing else: no control character (C0, DEL,
/// C1), no separator of lines or paragraphs, nothing that sets the direction of writing. Async-signal-safe.
constexpr bool is_printable(char32_t code) {
  const auto between = [code](char32_t low, char32_t high) { return low <= code && code <= high; };
  if (code < 0x20 || between(0x7F, 0x9F)) return false;
  return code != 0x061C && !between(0x200E, 0x200F) && !between(0x2028, 0x202E) && !between(0x2066, 0x206F);
}

/// Calls `put` with each byte of the spelling of one character, whose first byte is `first`.
/// Async-signal-safe if `put` is.
template <class Put>
constexpr void escape(const Character& character, Put put) {
  constexpr const char* kDigits = "0123456789abcdef";
  put('\\');
  if (!character.encoded) {
    put('x');
    put(kDigits[character.code >> 4U & 0xFU]);
    put(kDigits[character.code & 0xFU]);
    return;
  }
  if (character.code == '\n' || character.code == '\r' || character.code == '\t') {
    put(character.code == '\n' ? 'n' : character.code == '\r' ? 'r' : 't');
    return;
  }
  put('u');  // nothing unprintable lies beyond U+FFFF
  for (unsigned shift = 16; shift > 0;) {
    shift -= 4;
    put(kDigits[character.code >> shift & 0xFU]);
  }
}

/// Calls `put` with each byte of the spelling of `text`. Async-signal-safe if `put` is.
template <class Put>
constexpr void spell(const char* text, std::size_t size, Put put) {
  while (size > 0) {
    const Character first = first_character(text, size);
    if (first.encoded && is_printable(first.code)) {
      for (std::size_t at = 0; at < first.length; ++at) put(text[at]);
    } else {
      escape(first, put);
    }
    text += first.length;
    size -= first.length;
  }
}

}  // namespace culprit::print
