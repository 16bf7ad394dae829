#include "file_formats.hpp"
#include "repair.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Any bytes, with their checksums made right, give a database that can be read in whole, or a DatabaseError.
FUZZ_MUTATE_BY(fuzz::kDatabase)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> file(first, first + size);
  culprit::database::read_all(file);
  culprit::database::repair_checksums(file);
  culprit::database::read_all(file);
  return 0;
}
