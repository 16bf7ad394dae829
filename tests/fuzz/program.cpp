#include "launcher/dynamic_section.hpp"
#include "memory_file.hpp"

#include <cstddef>
#include <cstdint>

// Any bytes are no ELF file, or one that says how it is loaded.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const char*>(data);
  culprit::launcher::read_dynamic_section(memory_file({first, first + size}));
  return 0;
}
