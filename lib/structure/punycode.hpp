#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace culprit::structure {

/// The code points that Punycode (RFC 3492) with `_` for its `-`, as in Rust's symbols, stands for; nothing
/// where `text` is no Punycode or longer than any name of a program. Code points may be surrogates.
std::optional<std::u32string> decode_punycode(std::string_view text);

}  // namespace culprit::structure
