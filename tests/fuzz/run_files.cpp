#include "run_files.hpp"

#include "measurement/measurement.hpp"
#include "measurement/trace.hpp"
#include "recording.hpp"

#include <string>

namespace fuzz {
namespace {

namespace measurement = culprit::measurement;

constexpr std::size_t kFiles = 4;

}  // namespace

const RunFormat kRun = {
    .format = {.split = [](const Bytes& bytes) { return split_files(bytes, kFiles); },
               .join = join_files,
               .of_part = [](std::size_t part) { return part % 2 == 0 ? &kSealed : &kTrace; }},
    .measurement = [](const Bytes& part) { return part; },
};
const RunFormat kKilledRun = {
    .format = {.split = [](const Bytes& bytes) { return split_files(bytes, kFiles); },
               .join = join_files,
               .of_part = [](std::size_t part) { return part % 2 == 0 ? &kLive : &kTrace; }},
    .measurement = expand_live,
};

void write_run(const RunFormat& run, const Parts& files, const std::filesystem::path& directory) {
  for (std::size_t i = 0; i + 1 < files.size(); i += 2) {
    const std::filesystem::path path = directory / ("rank-" + std::to_string(i / 2) + ".culprit");
    recording::write_bytes(path, run.measurement(files[i]));
    Bytes trace = files[i + 1];
    try {
      claim(trace, measurement::Reader().read(path).process);
    } catch (const measurement::MeasurementError&) {  // the merge says so
    }
    recording::write_bytes(measurement::trace::trace_path(path), expand_trace(trace));
  }
}

}  // namespace fuzz
