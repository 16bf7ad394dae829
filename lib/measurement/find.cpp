#include "measurement/measurement.hpp"

#include <algorithm>
#include <system_error>

namespace culprit::measurement {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarker = "culprit.run";
constexpr const char* kExtension = ".culprit";

bool is_shard(const fs::path& name) {
  const std::string text = name.string();
  return text.size() == 2 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Whatever has a measurement's name is listed, a link to nowhere too: who reads it says what is wrong with
/// it.
std::error_code collect(const fs::path& directory, std::vector<fs::path>& found,
                        std::vector<fs::path>* shards) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    if (entry->path().extension() == kExtension) {
      found.push_back(entry->path());
    } else if (shards != nullptr && is_shard(entry->path().filename()) && entry->is_directory(unknown)) {
      shards->push_back(entry->path());
    }
  }
  return error;
}

}  // namespace

std::vector<fs::path> find_measurements(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (!fs::exists(status)) {
    throw MeasurementError(directory, "does not exist (name the directory that hpcrun-lite wrote)");
  }
  if (!fs::is_directory(status)) {
    throw MeasurementError(directory, "is not a directory (name the directory that hpcrun-lite wrote)");
  }
  std::vector<fs::path> found;
  std::vector<fs::path> shards;
  if ((error = collect(directory, found, &shards)))
    throw MeasurementError(directory, "cannot be listed: " + error.message() + " (check its permissions)");
  for (const fs::path& shard : shards) {
    if (collect(shard, found, nullptr)) found.push_back(shard);  // cannot be read, as its files
  }
  if (found.empty() && !fs::exists(directory / kMarker, error)) {
    throw MeasurementError(directory, "is not a measurement directory (name the one that hpcrun-lite wrote)");
  }
  // By their bytes: comparing part by part takes longer than reading the files.
  std::ranges::sort(found, {}, [](const fs::path& path) -> const std::string& { return path.native(); });
  return found;
}

}  // namespace culprit::measurement
