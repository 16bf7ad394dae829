#include "memory_file.hpp"
#include "structure/structure.hpp"
#include "structure/tail_calls.hpp"
#include "structure_validity.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <vector>

// Any bytes give a complete structure. Addresses are asked for where small programs have their code.
namespace {

constexpr std::uint64_t kLow = 0x1000, kHigh = 0x1800, kStep = 16;

std::vector<std::uint64_t> asked() {
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t address = kLow; address < kHigh; address += kStep) addresses.push_back(address);
  return addresses;
}

/// Any bytes name whom they name, or are refused.
void ask_for_tail_calls(const culprit::structure::Request& request) {
  try {
    culprit::structure::TailCalls code(request);
    for (const std::uint64_t address : request.addresses) {
      for (const culprit::structure::TailCall& jump : code.of(code.called_before(address)))
        code.exported(jump.name);
      code.of(address);
    }
  } catch (const std::exception&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static culprit::structure::Request request{
      .path = {}, .build_id = {}, .addresses = asked(), .debug_path = "-"};
  const auto* first = reinterpret_cast<const char*>(data);
  request.path = memory_file({first, first + size});
  const culprit::structure::ModuleStructure module = culprit::structure::recover(request);
  if (!validity::invalid(module, request.addresses.size()).empty()) abort();
  ask_for_tail_calls(request);
  return 0;
}
