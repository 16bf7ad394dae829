#include "memory_file.hpp"
#include "structure/structure.hpp"
#include "structure_validity.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

// Any bytes give a complete structure. Addresses are asked for where small programs have their code.
namespace {

constexpr std::uint64_t kLow = 0x1000, kHigh = 0x1800, kStep = 16;

std::vector<std::uint64_t> asked() {
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t address = kLow; address < kHigh; address += kStep) addresses.push_back(address);
  return addresses;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static culprit::structure::Request request{
      .path = {}, .build_id = {}, .addresses = asked(), .debug_path = "-"};
  const auto* first = reinterpret_cast<const char*>(data);
  request.path = memory_file({first, first + size});
  const culprit::structure::ModuleStructure module = culprit::structure::recover(request);
  if (!validity::invalid(module, request.addresses.size()).empty()) abort();
  return 0;
}
