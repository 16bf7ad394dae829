#pragma once

#include <filesystem>
#include <functional>

namespace culprit::measurement {

/// Calls `visit` for the files that find_measurements() finds, in its order, and throws what it throws, maybe
/// after some calls. Keeps the names of one directory at a time: there may be millions of files.
void for_each_measurement(const std::filesystem::path& directory,
                          const std::function<void(const std::filesystem::path&)>& visit);

}  // namespace culprit::measurement
