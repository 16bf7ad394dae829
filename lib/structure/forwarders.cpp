#include "structure/forwarders.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace culprit::structure {
namespace {

constexpr std::uint64_t kMostBytes = 32;  // of a forwarding function: some arguments, a jump, and padding
constexpr std::size_t kNearJump = 5, kShortJump = 2;

using Code = std::span<const std::byte>;

/// The length of an instruction that does no more than set a register to a number or to another register; 0
/// for any other.
std::size_t argument_length(Code code) {
  constexpr Code::value_type kMarker[] = {std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e}, std::byte{0xfa}};
  if (code.size() >= 4 && std::ranges::equal(code.first(4), kMarker)) return 4;  // endbr64
  const std::size_t prefix = !code.empty() && (code[0] & std::byte{0xf0}) == std::byte{0x40} ? 1 : 0;
  const bool wide = prefix == 1 && (code[0] & std::byte{0x08}) != std::byte{0};
  if (code.size() < prefix + 2) return 0;
  const auto opcode = std::to_integer<unsigned>(code[prefix]);
  if (opcode >= 0xb8 && opcode <= 0xbf) return wide ? 0 : prefix + 5;  // mov $number, %register
  const bool between_registers = (code[prefix + 1] & std::byte{0xc0}) == std::byte{0xc0};
  const bool moves = opcode == 0x31 || opcode == 0x33 || opcode == 0x89 || opcode == 0x8b;  // xor, mov
  return moves && between_registers ? prefix + 2 : 0;
}

/// Where the jump leads that is all a function does but for setting arguments; 0 if it does anything else.
std::uint64_t jump_target(const Module& module, std::uint64_t address, std::uint64_t end) {
  Code code = module.bytes(address);
  while (const std::size_t length = argument_length(code)) {
    if (length >= code.size() || address + length >= end) return 0;
    code = code.subspan(length);
    address += length;
  }
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
    const std::uint64_t target = jump_target(module, symbol.range.low, symbol.range.high);
    if (!module.executable(target) || symbols.at(target) != nullptr || symbols.covering(target) != nullptr)
      continue;
    found.push_back({{target, target}, symbol.name, symbol.rank});
  }
  return found;
}

}  // namespace culprit::structure
