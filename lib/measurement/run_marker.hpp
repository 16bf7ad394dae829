#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace culprit::measurement {

inline constexpr const char* kRunMarker = "culprit.run";

/// What the marker of a measurement directory says (docs/formats.md).
struct RunMarker {
  enum class State : std::uint8_t { absent, damaged, read };
  State state = State::absent;
  std::string run_id;  ///< where it was read
};

/// Reads it. Throws MeasurementError where it is of a newer version than this program knows: what else lies
/// in the directory may be, too.
RunMarker read_run_marker(const std::filesystem::path& directory);

}  // namespace culprit::measurement
