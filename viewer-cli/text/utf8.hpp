#pragma once

#include <string>
#include <string_view>

namespace culprit::viewer {

/// `text` as UTF-8: bytes that are none become U+FFFD, one each. Names of files and symbols may hold any
/// bytes, but readers of exported files refuse them.
std::string as_utf8(std::string_view text);

}  // namespace culprit::viewer
