#pragma once

#include "database/contents.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace culprit::viewer::tui {

/// Source text and where it comes from.
struct SourceText {
  std::vector<std::string> lines;  ///< without tabs; empty where the text is missing
  std::string origin;              ///< for the user: from where, or why not
};

/// Prefixes of paths, OLD and NEW: where files are now that were compiled elsewhere.
using PathPrefixes = std::vector<std::pair<std::string, std::string>>;

/// The text of a file as the database has it, else from the disk: under its path with the first prefix that
/// fits exchanged, under its path, or beside the working directory.
SourceText find_source(const database::Contents& experiment, std::string_view file,
                       const PathPrefixes& prefixes);

}  // namespace culprit::viewer::tui
