#include "file_formats.hpp"
#include "measurement/measurement.hpp"
#include "memory_file.hpp"
#include "trace_validity.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

// Any bytes give a valid trace or a MeasurementError. Each input is read as it stands, and as a trace without
// its holes.
namespace {

void read_all(const fuzz::Bytes& bytes) {
  const std::string& path = memory_file(bytes);
  try {
    if (!validity::invalid_trace(path).empty()) abort();
  } catch (const culprit::measurement::MeasurementError&) {
    return;
  }
}

}  // namespace

FUZZ_MUTATE_BY(fuzz::kTrace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bytes bytes = fuzz::bytes_of(data, size);
  read_all(bytes);
  read_all(fuzz::expand_trace(bytes));
  return 0;
}
