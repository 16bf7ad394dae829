#include "merge/input/marker.hpp"

#include "measurement/measurement.hpp"
#include "measurement/published_calls.hpp"
#include "measurement/run_marker.hpp"

#include <ctime>
#include <tuple>

#include <sys/stat.h>

namespace culprit::merge {

using measurement::RunMarker;

std::string marked_run(const std::filesystem::path& directory) {
  try {
    return measurement::read_run_marker(directory).run_id;
  } catch (const measurement::MeasurementError&) {
    return {};
  }
}

bool is_of_another_run(const std::string& run, const std::filesystem::path& directory) {
  const std::string marked = marked_run(directory);
  if (run.empty() || marked.empty() || marked == run) return false;
  bool another = false;
  measurement::Reader reader;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != ".culprit") continue;
    try {
      const std::string id = reader.read(at->path(), measurement::Extent::process).process.run_id;
      if (id == run) return false;
      another = another || !id.empty();
    } catch (const measurement::MeasurementError&) {  // the merge says what is wrong with it
      continue;
    }
  }
  return another;
}

bool went_on(const std::filesystem::path& directory, std::filesystem::file_time_type merged,
             std::int64_t until_ns) {
  constexpr int kMostLooks = 1000;
  constexpr std::int64_t kHeartbeats = 1'000'000'000;  // what a process may live after a look, and be killed
  std::error_code error;
  int looks = 0;
  for (std::filesystem::recursive_directory_iterator at(directory, error), end;
       !error && at != end && looks < kMostLooks; at.increment(error)) {
    if (at->path().extension() != ".culprit") continue;
    ++looks;
    std::error_code unknown;
    const std::filesystem::file_time_type written = at->last_write_time(unknown);
    if (!unknown && written > merged) return true;
    try {
      if (measurement::lived_until_ns(at->path()) > until_ns + kHeartbeats) return true;
    } catch (const measurement::MeasurementError&) {  // the merge says what is wrong with it
      continue;
    }
  }
  return false;
}

bool measurements_came_later(const std::filesystem::path& directory, const std::filesystem::path& database) {
  const auto is_before = [](const timespec& one, const timespec& other) {
    return std::tie(one.tv_sec, one.tv_nsec) < std::tie(other.tv_sec, other.tv_nsec);
  };
  struct stat merged {};
  if (::stat(database.c_str(), &merged) != 0) return false;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    struct stat file {};
    if (at->path().extension() == ".culprit" && ::stat(at->path().c_str(), &file) == 0 &&
        is_before(merged.st_mtim, file.st_ctim)) {
      return true;
    }
  }
  return false;
}

std::string marker_problem(const std::filesystem::path& directory, const std::string& run) {
  const RunMarker marker = measurement::read_run_marker(directory);
  const std::string path = (directory / measurement::kRunMarker).string();
  if (marker.state == RunMarker::State::damaged)
    return path + ": is no run marker (remove it: the measurements say of which run they are)";
  if (marker.state == RunMarker::State::absent || run.empty() || marker.run_id == run) return {};
  return path + ": names run " + marker.run_id + ", but the measurements are of run " + run +
         " (keep one run per directory)";
}

}  // namespace culprit::merge
