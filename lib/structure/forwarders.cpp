#include "structure/forwarders.hpp"

#include <cstring>

namespace culprit::structure {
namespace {

constexpr std::uint64_t kMostBytes = 16;  // of a forwarding function: a jump of 2 or 5 bytes, and padding
constexpr std::size_t kNearJump = 5, kShortJump = 2;

/// Where the jump leads that a function begins with; 0 if it begins with something else.
std::uint64_t jump_target(const Module& module, std::uint64_t address) {
  const auto code = module.bytes(address);
  if (code.size() >= kNearJump && code[0] == std::byte{0xe9}) {
    std::int32_t distance = 0;
    std::memcpy(&distance, code.data() + 1, sizeof distance);
    return address + kNearJump + static_cast<std::uint64_t>(std::int64_t{distance});
  }
  if (code.size() >= kShortJump && code[0] == std::byte{0xeb})
    return address + kShortJump + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(code[1])});
  return 0;
}

}  // namespace

std::vector<Symbol> forwarded_symbols(const Module& module, const Symbols& symbols) {
  if (!module.is_x86_64()) return {};
  std::vector<Symbol> found;
  for (const Symbol& symbol : symbols.all()) {
    const std::uint64_t size = symbol.range.high - symbol.range.low;
    if (size == 0 || size > kMostBytes) continue;
    const std::uint64_t target = jump_target(module, symbol.range.low);
    if (!module.executable(target) || symbols.at(target) != nullptr || symbols.covering(target) != nullptr)
      continue;
    found.push_back({{target, target}, symbol.name, symbol.rank});
  }
  return found;
}

}  // namespace culprit::structure
