#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace culprit::merge {

/// The run that the marker of a measurement directory names; empty where there is none that can be read.
std::string marked_run(const std::filesystem::path& directory);

/// Whether a database of `run` was made from another run than is in `directory`: its marker names another,
/// and so do all measurements that can be read. (Processes may have joined the run under another name.) False
/// where nothing there says.
bool is_of_another_run(const std::string& run, const std::filesystem::path& directory);

/// Whether processes that a merge found running, or killed, have gone on: a measurement was written after
/// `merged`, or its process is known to have lived for longer than until `until_ns` (CLOCK_REALTIME, as
/// Run::start_realtime_ns + duration_ns), as mapped pages need not change a file's time. Looks at a thousand
/// files: where a run goes on, all are written. What cannot be read is left out.
bool went_on(const std::filesystem::path& directory, std::filesystem::file_time_type merged,
             std::int64_t until_ns);

/// Whether a measurement came into the directory after `database` was written, as where the files of other
/// hosts are gathered later: by the time when its name or contents changed last, which copying does not keep.
bool measurements_came_later(const std::filesystem::path& directory, const std::filesystem::path& database);

/// What is wrong with the marker of the directory where `run` is merged: file: why (what to do). Empty where
/// nothing is.
std::string marker_problem(const std::filesystem::path& directory, const std::string& run);

}  // namespace culprit::merge
