#pragma once

#include "export/time_lines.hpp"

#include <filesystem>

namespace culprit::viewer {

/// Throws CommandError where this viewer-cli was built without the library that writes OTF2.
void require_otf2();

/// Writes an OTF2 archive named `traces` into an empty directory: per thread a location with its call paths
/// and waits as regions, messages, collectives and one-sided operations. Throws CommandError where the
/// library cannot.
void write_otf2(const std::filesystem::path& directory, const RunLines& lines);

}  // namespace culprit::viewer
