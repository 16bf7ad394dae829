#include "file_formats.hpp"
#include "measurement/measurement.hpp"
#include "memory_file.hpp"
#include "validity.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

// Any bytes give a valid live measurement or a MeasurementError. Each input is read as it stands, and as a
// file without its holes.
namespace {

void read_all(const fuzz::Bytes& bytes) {
  const std::string& path = memory_file(bytes);
  try {
    culprit::measurement::read_summary(path);
    if (!validity::invalid(culprit::measurement::read(path)).empty()) abort();
  } catch (const culprit::measurement::MeasurementError&) {
    return;
  }
}

}  // namespace

FUZZ_MUTATE_BY(fuzz::kLive)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bytes bytes = fuzz::bytes_of(data, size);
  read_all(bytes);
  read_all(fuzz::expand_live(bytes));
  return 0;
}
