#include "file_formats.hpp"
#include "measurement/measurement.hpp"
#include "memory_file.hpp"
#include "trace_validity.hpp"
#include "validity.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

// Any bytes give a valid file of a run or a MeasurementError. Each input is read as it stands, and as the
// whole file that it stands for. One fuzzer for each of the files below: CULPRIT_FUZZED.
namespace {

void read_measurement(const std::string& path) {
  if (!validity::invalid(culprit::measurement::Reader().read(path)).empty()) abort();
}

void read_trace(const std::string& path) {
  if (!validity::invalid_trace(path).empty()) abort();
}

fuzz::Bytes mended(const fuzz::Bytes& bytes) {
  fuzz::Bytes whole = bytes;
  validity::mend(whole);
  return whole;
}

struct File {
  const fuzz::Format& format;
  fuzz::Bytes (*whole)(const fuzz::Bytes& input);
  void (*read)(const std::string& path);
};

[[maybe_unused]] constexpr File sealed{fuzz::kSealed, mended, read_measurement};
[[maybe_unused]] constexpr File live{fuzz::kLive, fuzz::expand_live, read_measurement};
[[maybe_unused]] constexpr File trace{fuzz::kTrace, fuzz::expand_trace, read_trace};

void read(const fuzz::Bytes& bytes) {
  try {
    CULPRIT_FUZZED.read(memory_file(bytes));
  } catch (const culprit::measurement::MeasurementError&) {
    return;
  }
}

}  // namespace

FUZZ_MUTATE_BY(CULPRIT_FUZZED.format)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bytes bytes = fuzz::bytes_of(data, size);
  read(bytes);
  read(CULPRIT_FUZZED.whole(bytes));
  return 0;
}
