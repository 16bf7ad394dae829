#include "merge/input/marker.hpp"

#include "measurement/measurement.hpp"
#include "measurement/run_marker.hpp"

namespace culprit::merge {

using measurement::RunMarker;

std::string marked_run(const std::filesystem::path& directory) {
  try {
    return measurement::read_run_marker(directory).run_id;
  } catch (const measurement::MeasurementError&) {
    return {};
  }
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
