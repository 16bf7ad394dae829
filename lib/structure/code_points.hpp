#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace culprit::structure {

/// Adds a code point to `text` in UTF-8; false where there is none of this number.
bool add_utf8(std::string& text, std::uint64_t code);

/// What Punycode (RFC 3492) with `_` for its `-`, as in Rust's symbols, stands for, in UTF-8; nothing where
/// `text` is no Punycode or longer than any name of a program.
std::optional<std::string> decode_punycode(std::string_view text);

}  // namespace culprit::structure
