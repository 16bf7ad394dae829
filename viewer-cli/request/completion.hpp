#pragma once

#include <span>
#include <string>
#include <vector>

namespace culprit::viewer {

/// What shells print instead of words: names of files fit here.
inline constexpr const char* kCompleteFiles = ":files";

/// What may stand in place of the last of `words` (those behind the tool's name; the last one may be empty or
/// only begun): commands, views, formats, options of the command, and metrics and roles of the database that
/// is named before. Those that begin like it, or kCompleteFiles alone. Never merges, never throws: what
/// cannot be read completes to nothing.
std::vector<std::string> complete(std::span<const std::string> words);

}  // namespace culprit::viewer
