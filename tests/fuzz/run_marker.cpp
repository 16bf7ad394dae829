#include "measurement/run_marker.hpp"

#include "file_formats.hpp"
#include "measurement/measurement.hpp"
#include "merge/input/marker.hpp"
#include "recording.hpp"

#include <cstddef>
#include <cstdint>

// Any bytes are a run's marker, or are reported to be none.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace measurement = culprit::measurement;
  static const recording::Directory directory(recording::scratch());
  recording::write_bytes(directory / measurement::kRunMarker, fuzz::bytes_of(data, size));
  try {
    culprit::merge::marker_problem(directory.path(), "0123");
  } catch (const measurement::MeasurementError&) {  // of a newer version
  }
  return 0;
}
