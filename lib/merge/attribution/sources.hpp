#pragma once

#include "database/database.hpp"
#include "files/readership.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace culprit::merge {

/// No source file larger than this is copied: it is generated code that nobody reads.
inline constexpr std::uint64_t kMaxSourceBytes = std::uint64_t{2} << 20;
/// All copies together; enough for the sampled part of any program, and it bounds the database.
inline constexpr std::uint64_t kMaxSourcesBytes = std::uint64_t{64} << 20;
/// Until the next file is read: a file system that does not answer (a server is gone) must not hold a merge.
inline constexpr std::chrono::seconds kSourcePatience{30};

/// For whom sources are copied, and where the database will be.
struct SourceRights {
  std::vector<files::Reader> readers;  ///< who measured: all must be allowed to read a file
  std::filesystem::path shared;        ///< the database's directory, resolved
};

struct CopiedSources {
  std::vector<database::SourceFile> files;  ///< ascending by path
  files::Readership readership;             ///< who may read all of them
  std::string problem;                      ///< why the rest was not tried; else empty
};

/// The text of a file; empty where it is none that may be copied. Restricts the readership to the file's.
using ReadSource =
    std::function<std::string(const std::filesystem::path& path, files::Readership& readership)>;

/// Reads a file that debug information names, which may be any of the system: only plain text, in a regular
/// file within the bounds, which all who measured may read.
ReadSource read_source_for(SourceRights rights);

/// Copies the source files that contexts name. What cannot be copied is left out. Reads on a thread of its
/// own, which is left behind where a file does not answer in time; `read` must not refer to what ends before
/// the process.
CopiedSources copy_sources(std::span<const database::Context> contexts, std::span<const std::string> strings,
                           const ReadSource& read, std::chrono::milliseconds patience = kSourcePatience);

}  // namespace culprit::merge
