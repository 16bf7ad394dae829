#pragma once

#include "file_formats.hpp"

#include <filesystem>

namespace fuzz {

/// The files of a run of two ranks: of each a sealed measurement and a compact trace.
extern const Format kRun;

/// Writes these files into a directory; each trace says that it is of the measurement beside it.
void write_run(const Parts& files, const std::filesystem::path& directory);

}  // namespace fuzz
