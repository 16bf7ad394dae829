#include "measurement/find.hpp"

#include "measurement/measurement.hpp"
#include "measurement/run_marker.hpp"

#include <algorithm>
#include <string>
#include <system_error>

namespace culprit::measurement {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".culprit";

bool is_shard(const fs::path& name) {
  const std::string text = name.string();
  return text.size() == 2 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// The names of measurements in `directory`; where `shards` is wanted, those of its shards as well, each
/// ended by a slash. By their bytes, so that all paths come in that order: comparing them part by part takes
/// longer than reading the files. Whatever has a measurement's name is listed, a link to nowhere too: who
/// reads it says what is wrong with it. Sets `error` where there may be more that cannot be listed.
std::vector<std::string> list(const fs::path& directory, bool shards, std::error_code& error) {
  std::vector<std::string> names;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    const fs::path name = entry->path().filename();
    if (name.extension() == kExtension) {
      names.push_back(name.native());
    } else if (shards && is_shard(name) && entry->is_directory(unknown)) {
      names.push_back(name.native() + '/');
    }
  }
  std::ranges::sort(names);
  return names;
}

/// The shard itself as well where it cannot be read, as its files.
void visit_shard(const fs::path& shard, const std::function<void(const fs::path&)>& visit) {
  std::error_code error;
  const std::vector<std::string> names = list(shard, false, error);
  if (error) visit(shard);
  for (const std::string& name : names) visit(shard / name);
}

}  // namespace

void for_each_measurement(const fs::path& directory, const std::function<void(const fs::path&)>& visit) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (!fs::exists(status)) {
    throw MeasurementError(directory, "does not exist (name the directory that hpcrun-lite wrote)");
  }
  if (!fs::is_directory(status)) {
    throw MeasurementError(directory, "is not a directory (name the directory that hpcrun-lite wrote)");
  }
  const std::vector<std::string> names = list(directory, true, error);
  if (error)
    throw MeasurementError(directory, "cannot be listed: " + error.message() + " (check its permissions)");
  bool found = false;
  const auto visit_one = [&](const fs::path& path) {
    found = true;
    visit(path);
  };
  for (const std::string& name : names) {
    if (name.ends_with('/')) {
      visit_shard(directory / name.substr(0, name.size() - 1), visit_one);
    } else {
      visit_one(directory / name);
    }
  }
  if (!found && !fs::exists(directory / kRunMarker, error)) {
    throw MeasurementError(directory, "is not a measurement directory (name the one that hpcrun-lite wrote)");
  }
}

}  // namespace culprit::measurement
