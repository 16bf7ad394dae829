// Names for functions that a named one hands over to at once by a jump, and which are therefore on call paths
// in its place (docs/algorithms.md 15). A target without a symbol gets the name of the one function that does
// nothing but jump there; where a small named function leaves its frame to it otherwise, the name with
// `.part`; none where several lead there. Cost: one pass over the bytes of the code, once per module that was
// sampled.
#include "structure/forwarders.hpp"

#include "structure/structure.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <Zydis/Zydis.h>

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

constexpr int kMostParts = 4;                 // that follow each other; a damaged module may have a circle
constexpr std::uint64_t kMostPartBytes = 64;  // of a function that decides little before it jumps

/// Reads a function that calls nothing and only runs forward, up to its last return or jump.
class ForwardRun {
 public:
  explicit ForwardRun(const Module& module) : module_(module) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  }
  /// The one place outside that the function jumps to; 0 where there is none or another, or it is no such
  /// function.
  std::uint64_t way_out(std::uint64_t entry) {
    Code code = module_.bytes(entry);
    code = code.first(std::min<std::size_t>(code.size(), kMostPartBytes));
    std::uint64_t at = entry;
    std::uint64_t reach = entry;  // the farthest that a jump within leads to
    std::uint64_t out = 0;
    while (true) {
      ZydisDecodedInstruction instruction;
      if (ZYAN_FAILED(
              ZydisDecoderDecodeInstruction(&decoder_, nullptr, code.data(), code.size(), &instruction)))
        return 0;
      at += instruction.length;
      code = code.subspan(instruction.length);
      const bool jumps = instruction.mnemonic == ZYDIS_MNEMONIC_JMP;
      const bool returns = instruction.meta.category == ZYDIS_CATEGORY_RET;
      if (jumps || instruction.meta.category == ZYDIS_CATEGORY_COND_BR) {
        if (instruction.raw.imm[0].size == 0) return 0;
        const std::uint64_t target = at + static_cast<std::uint64_t>(instruction.raw.imm[0].value.s);
        const bool inside = target >= at && target - entry < kMostPartBytes;
        if (!inside && (!jumps || (out != 0 && out != target))) return 0;
        if (inside) reach = std::max(reach, target);
        if (!inside) out = target;
      } else if (!returns && changes_flow(instruction.meta.category)) {
        return 0;
      }
      if ((jumps || returns) && at > reach) return out;
    }
  }

 private:
  static bool changes_flow(ZydisInstructionCategory category) {
    return category == ZYDIS_CATEGORY_CALL || category == ZYDIS_CATEGORY_SYSCALL ||
           category == ZYDIS_CATEGORY_INTERRUPT;
  }

  const Module& module_;
  ZydisDecoder decoder_{};
};

/// Whether a jump to where no symbol is may be among the bytes: a look that spares decoding nearly all.
bool may_leave(const Module& module, const Symbols& symbols, const Symbol& symbol) {
  const std::uint64_t size = symbol.range.high - symbol.range.low;
  Code code = module.bytes(symbol.range.low);
  code = code.first(std::min<std::size_t>(code.size(), size));
  const auto leaves = [&](std::size_t end, std::int64_t distance) {
    const std::uint64_t target = symbol.range.low + end + static_cast<std::uint64_t>(distance);
    return module.executable(target) && symbols.covering(target) == nullptr;
  };
  for (std::size_t i = 0; i + kShortJump <= code.size(); ++i) {
    if (code[i] == std::byte{0xeb} && leaves(i + kShortJump, static_cast<std::int8_t>(code[i + 1])))
      return true;
    if (code[i] != std::byte{kNearJumpCode} || i + kNearJump > code.size()) continue;
    std::int32_t distance = 0;
    std::memcpy(&distance, code.data() + i + 1, sizeof distance);
    if (leaves(i + kNearJump, distance)) return true;
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
  const Module::Section text = module.section(".text");
  for (Code code = text.bytes; code.size() >= kNearJump; code = code.subspan(1)) {
    const void* next = std::memchr(code.data(), kNearJumpCode, code.size() + 1 - kNearJump);
    if (next == nullptr) return;
    code = code.subspan(static_cast<std::size_t>(static_cast<const std::byte*>(next) - code.data()));
    const std::uint64_t from = text.address + (text.bytes.size() - code.size());
    const std::uint64_t target = near_jump_target(code, from);
    if (!marked[target % kMarks]) continue;
    const auto found = origins.find(target);
    if (found == origins.end() || found->second == nullptr || found->second->range.contains(from)) continue;
    const Symbol* before = symbols.preceding(from);
    const bool itself = from > target && (before == nullptr || before->range.low < target);
    if (!itself) found->second = nullptr;
  }
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

std::vector<Symbol> part_symbols(const Module& module, const Symbols& symbols) {
  if (!module.is_x86_64()) return {};
  const auto nameless = [&](std::uint64_t address) {
    return module.executable(address) && symbols.at(address) == nullptr &&
           symbols.covering(address) == nullptr;
  };
  ForwardRun run(module);
  Origins parts;
  for (const Symbol& symbol : symbols.all()) {
    const std::uint64_t size = symbol.range.high - symbol.range.low;
    if (size == 0 || size > kMostPartBytes || !may_leave(module, symbols, symbol)) continue;
    if (jump_target(module, symbol.range.low, symbol.range.high) != 0) continue;  // that is no part
    // A part may itself leave its frame to the next.
    std::uint64_t target = run.way_out(symbol.range.low);
    for (int depth = 0; depth < kMostParts && target != 0 && nameless(target); ++depth) {
      note_origin(parts, target, symbol);
      target = run.way_out(target);
    }
  }
  return named_after_origin(parts, kPartSuffix);
}

std::vector<Symbol> forwarded_symbols(const Module& module, const Symbols& symbols) {
  if (!module.is_x86_64()) return {};
  Origins origins;
  for (const Symbol& symbol : symbols.all()) {
    const std::uint64_t size = symbol.range.high - symbol.range.low;
    if (size == 0 || size > kMostBytes) continue;
    const std::uint64_t target = jump_target(module, symbol.range.low, symbol.range.high);
    if (!module.executable(target) || symbols.at(target) != nullptr || symbols.covering(target) != nullptr)
      continue;
    note_origin(origins, target, symbol);
  }
  leave_out_shared(module, symbols, origins);
  return named_after_origin(origins, {});
}

}  // namespace culprit::structure
