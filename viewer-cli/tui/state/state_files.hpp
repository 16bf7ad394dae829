#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace culprit::viewer::tui {

/// Where what the browser remembers about a database lies: in $XDG_STATE_HOME/culprit (or ~/.local/state),
/// named after the database's own path. Nothing where there is no home.
std::optional<std::filesystem::path> state_file(const std::string& database, const std::string& ending);

/// Writes a file under a temporary name and renames it, with the folders above it; for those to read who may
/// read the database that it is about. False: it could not.
bool write_whole(const std::filesystem::path& file, const std::string& text, const std::string& database);

/// Writes a file that did not exist, follows no link, and lets nobody read it who may not read `source`.
/// Returns why it could not (what to do); empty: it is written.
std::string write_new(const std::filesystem::path& file, const std::string& text,
                      const std::filesystem::path& source);

/// All of a file; nothing where it cannot be read, or is larger than anybody would write by hand.
std::optional<std::string> read_whole(const std::filesystem::path& file);

}  // namespace culprit::viewer::tui

// Metrics that the user defined, kept with the database: one `NAME=FORMULA` a line in DB.metrics; where that
// folder cannot be written, among what the browser remembers (state_files.hpp).
namespace culprit::viewer::tui {

std::vector<std::string> load_derived_metrics(const std::string& database);

/// Returns where they went, for the user.
std::string save_derived_metrics(const std::string& database, const std::vector<std::string>& definitions);

}  // namespace culprit::viewer::tui
