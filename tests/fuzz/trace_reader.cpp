#include "measurement/trace_layout.hpp"
#include "memory_file.hpp"
#include "trace_validity.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// Any bytes give a valid trace or a MeasurementError. Each input is read as it stands, and as the used bytes
// of blocks that are in order themselves, so that small inputs reach the records.
namespace {

namespace trace = culprit::measurement::trace;

void read_all(const std::vector<char>& bytes) {
  const std::string& path = memory_file(bytes);
  try {
    if (!validity::invalid_trace(path).empty()) abort();
  } catch (const culprit::measurement::MeasurementError&) {
    return;
  }
}

// The first quarter becomes the process's stream, the rest two blocks of a thread's.
std::vector<char> spread(const std::uint8_t* data, std::size_t size) {
  trace::Header header{};
  std::memcpy(header.magic, trace::kMagic, sizeof header.magic);
  header.version = trace::kVersion;
  header.header_size = sizeof header;
  header.slot = trace::kSlot;
  std::vector<char> file(std::size_t{4} * trace::kSlot);
  std::memcpy(file.data(), &header, sizeof header);
  const std::size_t ends[] = {size / 4, size * 5 / 8, size};
  std::size_t at = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    trace::BlockHeader block{};
    block.magic = trace::kBlockMagic;
    block.stream = i == 0 ? trace::kProcessStream : 0;
    block.sequence = i == 2 ? 1 : 0;
    block.used = static_cast<std::uint32_t>(std::min<std::size_t>(ends[i] - at, trace::kPayload));
    block.base_ns = i == 2 ? std::uint64_t{1} << 62 : 0;
    char* slot = file.data() + (i + 1) * trace::kSlot;
    std::memcpy(slot, &block, sizeof block);
    if (block.used != 0) std::memcpy(slot + sizeof block, data + at, block.used);
    at = ends[i];
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const char*>(data);
  read_all({first, first + size});
  read_all(spread(data, size));
  return 0;
}
