#include "file_formats.hpp"
#include "measurement/measurement.hpp"
#include "memory_file.hpp"
#include "validity.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

// Any bytes give a valid sealed measurement or a MeasurementError; each input is read as it stands and with
// its checksums made right.
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

FUZZ_MUTATE_BY(fuzz::kSealed)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes = fuzz::bytes_of(data, size);
  read_all(bytes);
  validity::mend(bytes);
  read_all(bytes);
  return 0;
}
