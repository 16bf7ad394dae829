#include "structure/rust_symbol.hpp"
#include "structure/structure.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

// Any bytes are a symbol: its name is made in bounded time and of bounded length.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace structure = culprit::structure;
  constexpr std::size_t kLongest = 1 << 16U;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  structure::demangle(bytes);
  const auto name = structure::demangle_rust("_R" + bytes);
  if (name && name->size() > kLongest) abort();
  std::string legacy = bytes + "::h0123456789abcdef";
  structure::read_legacy_rust(legacy);
  if (legacy.size() > 4 * bytes.size() + kLongest) abort();
  return 0;
}
