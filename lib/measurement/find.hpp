#pragma once

#include <filesystem>
#include <functional>

namespace culprit::measurement {

/// Calls `visit` for what has the name of a measurement file below a measurement directory, whatever it is,
/// and for shards that cannot be listed, sorted; skips what is not one of ours. Keeps the names of one
/// directory at a time: there may be millions of files. Throws MeasurementError, maybe after some calls, if
/// `directory` is not a measurement directory (no run marker) or cannot be listed, with what to do.
void for_each_measurement(const std::filesystem::path& directory,
                          const std::function<void(const std::filesystem::path&)>& visit);

}  // namespace culprit::measurement
