#pragma once

#include "file_formats.hpp"

#include <filesystem>

namespace fuzz {

/// The files of a run of two ranks.
struct RunFormat {
  Format format;
  Bytes (*measurement)(const Bytes& part);  ///< the file that a part stands for, with right checksums
};
/// Of each a sealed measurement and a compact trace.
extern const RunFormat kRun;
/// Of processes that were killed: of each a live measurement without its holes and a compact trace.
extern const RunFormat kKilledRun;

/// Writes these files into a directory; each trace says that it is of the measurement beside it.
void write_run(const RunFormat& run, const Parts& files, const std::filesystem::path& directory);

}  // namespace fuzz
