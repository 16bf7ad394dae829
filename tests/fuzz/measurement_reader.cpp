#include "measurement/live_layout.hpp"
#include "measurement/measurement.hpp"
#include "memory_file.hpp"
#include "validity.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// Any bytes give a valid measurement or a MeasurementError. Each input is read as it stands, with its
// checksums made right, and spread out as the header and the blocks of a live file.
namespace {

namespace layout = culprit::measurement::layout;

// Reads the bytes as a file that lies in memory.
void read_all(const std::vector<char>& bytes) {
  const std::string& path = memory_file(bytes);
  try {
    culprit::measurement::read_summary(path);
    if (!validity::invalid(culprit::measurement::read(path)).empty()) abort();
  } catch (const culprit::measurement::MeasurementError&) {
    return;
  }
}

// A small input reaches little of a live file, most of which is empty: the first 512 bytes become the header,
// each 2 KiB after them the start of a granule and of the place where module records begin.
std::vector<char> spread(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHead = 512;
  constexpr std::size_t kStart = 1536;
  constexpr std::size_t kPiece = 2048;
  constexpr std::size_t kRecords = std::size_t{layout::kFirstModuleUnit} * layout::kUnit;
  std::vector<char> file(sizeof(layout::Header));
  std::memcpy(file.data(), data, std::min(size, kHead));
  layout::Header header{};
  std::memcpy(&header, file.data(), kHead);
  std::memcpy(header.magic, layout::kLiveMagic, sizeof header.magic);
  header.version = layout::kLiveVersion;
  header.header_size = sizeof header;
  header.granule = layout::kGranule;
  header.unit = layout::kUnit;
  header.flags &= layout::kFlagRealtime | layout::kFlagTraced;
  header.event_count = header.event_count % 4 + 1;
  header.cell_units = layout::cell_units(header.event_count - (header.flags & layout::kFlagRealtime));
  std::memcpy(file.data(), &header, sizeof header);
  for (std::size_t at = kHead; at < size; at += kPiece) {
    const std::size_t piece = std::min(size - at, kPiece);
    const std::size_t granule = file.size();
    file.resize(granule + layout::kGranule);
    std::memcpy(file.data() + granule, data + at, std::min(piece, kStart));
    if (piece > kStart) std::memcpy(file.data() + granule + kRecords, data + at + kStart, piece - kStart);
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const char*>(data);
  std::vector<char> bytes(first, first + size);
  read_all(bytes);
  validity::mend(bytes);
  read_all(bytes);
  read_all(spread(data, size));
  return 0;
}
