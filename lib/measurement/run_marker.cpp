#include "measurement/run_marker.hpp"

#include "measurement/input_file.hpp"
#include "measurement/measurement.hpp"

#include <cstddef>
#include <span>
#include <system_error>

#include <nlohmann/json.hpp>

namespace culprit::measurement {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kMostBytes = 65536;  // of which it takes a hundred

/// Nothing where it cannot be read.
nlohmann::json parse(const std::filesystem::path& path) {
  try {
    InputWindow window;
    InputFile file(path.string(), window);
    if (file.size() > kMostBytes) return {};
    const std::span<const std::byte> bytes = file.view(0, static_cast<std::size_t>(file.size()));
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    return nlohmann::json::parse(text, text + bytes.size(), nullptr, false);
  } catch (const MeasurementError&) {
    return {};
  }
}

}  // namespace

RunMarker read_run_marker(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kRunMarker;
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return {};
  const nlohmann::json marker = parse(path);
  const auto member = [&marker](const char* name) {
    return marker.is_object() ? marker.value(name, nlohmann::json()) : nlohmann::json();
  };
  const nlohmann::json version = member("version");
  const nlohmann::json run_id = member("run_id");
  const bool ours = member("format") == "culprit-run" && version.is_number_unsigned();
  if (ours && version > kVersion) {
    throw MeasurementError(path, "has format version " + version.dump() +
                                     ", written by a newer Culprit (use the tools of that version)");
  }
  if (!ours || version != kVersion || !run_id.is_string())
    return {.state = RunMarker::State::damaged, .run_id = {}};
  return {.state = RunMarker::State::read, .run_id = run_id};
}

}  // namespace culprit::measurement
