#pragma once

#include <string>
#include <string_view>

namespace culprit::viewer {

/// The help of one command, or of the tool where `command` is empty or none of its commands. Examples come
/// first.
std::string help_text(std::string_view command);

}  // namespace culprit::viewer
