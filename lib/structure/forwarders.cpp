// Names for functions that a named one hands over to at once by a jump, and which are therefore on call paths
// in its place (docs/algorithms.md 15). A target without a symbol gets the name of the one function that does
// nothing but jump there; where a small named function leaves its frame to it otherwise, the name with
// `.part`; none where several lead there. Cost: one pass over the bytes of the code, once per module that was
// sampled.
#include "structure/forwarders.hpp"

#include "structure/aarch64_code.hpp"
#include "structure/machine_code.hpp"
#include "structure/structure.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace culprit::structure {
namespace {

constexpr std::uint64_t kMostBytes = 32;  // of a forwarding function: some arguments, a jump, and padding
constexpr std::size_t kNearJump = 5, kShortJump = 2;
constexpr int kNearJumpCode = 0xe9;
constexpr std::size_t kMarks = 1 << 16;

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

/// Where a near jump at `address` leads, of which `code` has all bytes.
std::uint64_t near_jump_target(Code code, std::uint64_t address) {
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + 1, sizeof distance);
  return address + kNearJump + static_cast<std::uint64_t>(std::int64_t{distance});
}

/// Where the jump leads that is all a function does but for setting arguments; 0 if it does anything else.
std::uint64_t jump_target(const Module& module, std::uint64_t address, std::uint64_t end) {
  if (module.is_aarch64()) return aarch64::forwards_to(module, address, end);
  Code code = module.bytes(address);
  while (const std::size_t length = argument_length(code)) {
    if (length >= code.size() || address + length >= end) return 0;
    code = code.subspan(length);
    address += length;
  }
  if (code.size() >= kNearJump && code[0] == std::byte{kNearJumpCode}) return near_jump_target(code, address);
  if (code.size() >= kShortJump && code[0] == std::byte{0xeb})
    return address + kShortJump + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(code[1])});
  return 0;
}

/// syscall, sysenter, int; svc.
bool calls_system(const Module& module, const Instruction& instruction) {
  if (module.is_aarch64()) return aarch64::calls_system(module, instruction.address);
  const Code code = module.bytes(instruction.address);
  if (code.size() < 2) return false;
  const bool system =
      code[0] == std::byte{0x0f} && (code[1] == std::byte{0x05} || code[1] == std::byte{0x34});
  return system || code[0] == std::byte{0xcd};
}

constexpr int kMostParts = 4;                 // that follow each other; a damaged module may have a circle
constexpr std::uint64_t kMostPartBytes = 64;  // of a function that decides little before it jumps

/// Of a function that calls nothing and only runs forward, up to its last return or jump: the one place
/// outside that it jumps to; 0 where there is none or another, or it is no such function.
std::uint64_t way_out(const Module& module, const Decoder& decoder, std::uint64_t entry) {
  using Flow = Instruction::Flow;
  std::uint64_t reach = entry;  // the farthest that a jump within leads to
  std::uint64_t out = 0;
  for (const Instruction& instruction : decoder.decode({entry, entry + kMostPartBytes})) {
    const bool jumps = instruction.flow == Flow::jump;
    if (jumps || instruction.flow == Flow::branch) {
      const std::uint64_t target = instruction.target;
      const bool inside = target >= instruction.end() && target - entry < kMostPartBytes;
      if (!inside && (!jumps || (out != 0 && out != target))) return 0;
      if (inside) reach = std::max(reach, target);
      if (!inside) out = target;
    } else if (instruction.flow == Flow::call || instruction.flow == Flow::computed ||
               calls_system(module, instruction)) {
      return 0;
    }
    if ((jumps || instruction.flow == Flow::end) && instruction.end() > reach) return out;
  }
  return 0;
}

/// Calls `visit` with the places of what may be near jumps in code, and with where they lead, until it
/// returns true. Of x86-64 wherever the bytes of one are.
template <typename Visit>
bool any_near_jump(const Module& module, const Module::Section& text, Visit visit) {
  if (module.is_aarch64()) {
    for (std::uint64_t at = text.address, end = at + text.bytes.size(); at < end; at += 4)
      if (const std::uint64_t target = aarch64::jump_target(module, at); target != 0 && visit(at, target))
        return true;
    return false;
  }
  for (Code code = text.bytes; code.size() >= kNearJump; code = code.subspan(1)) {
    const void* next = std::memchr(code.data(), kNearJumpCode, code.size() + 1 - kNearJump);
    if (next == nullptr) return false;
    code = code.subspan(static_cast<std::size_t>(static_cast<const std::byte*>(next) - code.data()));
    const std::uint64_t from = text.address + (text.bytes.size() - code.size());
    if (visit(from, near_jump_target(code, from))) return true;
  }
  return false;
}

/// Whether a jump to where no symbol is may be among the bytes: a look that spares decoding nearly all.
bool may_leave(const Module& module, const Symbols& symbols, const Symbol& symbol) {
  const std::uint64_t size = symbol.range.high - symbol.range.low;
  Code code = module.bytes(symbol.range.low);
  code = code.first(std::min<std::size_t>(code.size(), size));
  const auto leaves = [&](std::uint64_t, std::uint64_t target) {
    return module.executable(target) && symbols.covering(target) == nullptr;
  };
  if (any_near_jump(module, {symbol.range.low, 0, code}, leaves)) return true;
  if (module.is_aarch64()) return false;
  for (std::size_t i = 0; i + kShortJump <= code.size(); ++i) {
    const auto distance = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(code[i + 1])});
    const std::uint64_t from = symbol.range.low + i;
    if (code[i] == std::byte{0xeb} && leaves(from, from + kShortJump + distance)) return true;
  }
  return false;
}

/// By address: the one function that leads there; null where several do, of which none can give its name.
using Origins = std::map<std::uint64_t, const Symbol*>;

void note_origin(Origins& origins, std::uint64_t target, const Symbol& symbol) {
  const auto [known, added] = origins.try_emplace(target, &symbol);
  if (!added && known->second != &symbol) known->second = nullptr;
}

/// Leaves out where functions jump to that do something else before, as `strtol` does to what `strtol_l` only
/// jumps to. What lies behind the target without a symbol between may be the target itself.
void leave_out_shared(const Module& module, const Symbols& symbols, Origins& origins) {
  if (origins.empty()) return;
  // Nearly all jumps lead elsewhere, and there are hundreds of thousands.
  std::vector<bool> marked(kMarks);
  for (const auto& [target, symbol] : origins) marked[target % kMarks] = true;
  any_near_jump(module, module.section(".text"), [&](std::uint64_t from, std::uint64_t target) {
    if (!marked[target % kMarks]) return false;
    const auto found = origins.find(target);
    if (found == origins.end() || found->second == nullptr || found->second->range.contains(from))
      return false;
    const Symbol* before = symbols.preceding(from);
    const bool itself = from > target && (before == nullptr || before->range.low < target);
    if (!itself) found->second = nullptr;
    return false;
  });
}

std::vector<Symbol> named_after_origin(const Origins& origins, std::string_view suffix) {
  std::vector<Symbol> found;
  for (const auto& [target, symbol] : origins) {
    if (symbol == nullptr) continue;
    found.push_back({{target, target}, symbol->name + std::string(suffix), symbol->rank});
  }
  return found;
}

}  // namespace

std::vector<Symbol> part_symbols(const Module& module, const Symbols& symbols, const LinkageStubs& stubs) {
  if (!module.is_x86_64() && !module.is_aarch64()) return {};
  const auto nameless = [&](std::uint64_t address) {
    return module.executable(address) && symbols.at(address) == nullptr &&
           symbols.covering(address) == nullptr && !stubs.find(address);
  };
  const Decoder decoder(module);
  Origins parts;
  for (const Symbol& symbol : symbols.all()) {
    const std::uint64_t size = symbol.range.high - symbol.range.low;
    if (size == 0 || size > kMostPartBytes || !may_leave(module, symbols, symbol)) continue;
    if (jump_target(module, symbol.range.low, symbol.range.high) != 0) continue;  // that is no part
    // A part may itself leave its frame to the next.
    std::uint64_t target = way_out(module, decoder, symbol.range.low);
    for (int depth = 0; depth < kMostParts && target != 0 && nameless(target); ++depth) {
      note_origin(parts, target, symbol);
      target = way_out(module, decoder, target);
    }
  }
  return named_after_origin(parts, kPartSuffix);
}

std::vector<Symbol> forwarded_symbols(const Module& module, const Symbols& symbols,
                                      const LinkageStubs& stubs) {
  if (!module.is_x86_64() && !module.is_aarch64()) return {};
  Origins origins;
  for (const Symbol& symbol : symbols.all()) {
    const std::uint64_t size = symbol.range.high - symbol.range.low;
    if (size == 0 || size > kMostBytes) continue;
    const std::uint64_t target = jump_target(module, symbol.range.low, symbol.range.high);
    if (!module.executable(target) || symbols.at(target) != nullptr || symbols.covering(target) != nullptr ||
        stubs.find(target))
      continue;
    note_origin(origins, target, symbol);
  }
  leave_out_shared(module, symbols, origins);
  return named_after_origin(origins, {});
}

}  // namespace culprit::structure
