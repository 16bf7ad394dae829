// Names and bounds of functions without debug information (docs/algorithms.md 15): linkage stubs, then the
// symbol whose size covers the address, then call-frame information; cold parts (`.cold`) belong to their
// function. An address beyond a symbol's size is never given to it.
#include "structure/function_bounds.hpp"

#include "structure/aarch64_code.hpp"
#include "structure/forwarders.hpp"
#include "structure/machine_code.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace culprit::structure {

namespace {

/// `foo` of `foo.cold`, `foo.cold.3`, `foo.part.0.cold`: the symbol whose rarely executed part this is; empty
/// where it is none.
std::string hot_name(const std::string& name) {
  const auto at = name.rfind(".cold");
  if (at == std::string::npos || at == 0) return {};
  const auto rest = std::string_view(name).substr(at + 5);
  const bool numbered =
      rest.starts_with('.') && rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return rest.empty() || numbered ? name.substr(0, at) : std::string();
}

}  // namespace

FunctionBounds::FunctionBounds(const Module& module)
    : module_(module), frames_(module), symbols_(module), stubs_(module) {
  symbols_.add(entry_symbols(module));
  symbols_.add(forwarded_symbols(module, symbols_, stubs_));
  symbols_.add(part_symbols(module, symbols_, stubs_));
}

const Symbol* FunctionBounds::owner(std::uint64_t address, const Frame* frame) const {
  if (const Symbol* symbol = symbols_.covering(address)) return symbol;
  const Symbol* symbol = symbols_.preceding(address);
  if (symbol == nullptr) return nullptr;
  const bool sized = symbol->range.high > symbol->range.low;
  if (frame == nullptr)  // code without call-frame information, such as assembly
    return !sized && extent(*symbol).contains(address) ? symbol : nullptr;
  if (symbol->range.low == frame->range.low) return symbol;
  return !sized && symbol->range.low > frame->range.low ? symbol : nullptr;
}

Range FunctionBounds::extent(const Symbol& symbol) const {
  Range range = symbol.range;
  const Frame* frame = frames_.find(symbol.range.low);
  if (frame != nullptr && frame->range.low == range.low) range.high = std::max(range.high, frame->range.high);
  if (range.high > range.low) return range;
  range.high = range.low + module_.bytes(range.low).size();
  if (frame != nullptr) range.high = std::min(range.high, frame->range.high);
  if (const Symbol* next = symbols_.following(range.low)) range.high = std::min(range.high, next->range.low);
  return range;
}

Function FunctionBounds::whole(const Symbol& symbol) const {
  Function function{demangle(symbol.name), symbol.name, {extent(symbol)}, NameSource::symbol};
  const Symbol* cold = symbols_.named(symbol.name + ".cold");
  if (cold != nullptr && symbols_.named(symbol.name) == &symbol) function.ranges.push_back(extent(*cold));
  return function;
}

Function FunctionBounds::find(std::uint64_t address) const {
  if (const auto stub = stubs_.find(address)) {
    const std::string callee = stub->callee.empty() ? "?" : stub->callee;
    return {demangle(callee) + "@plt", callee + "@plt", {stub->range}, NameSource::symbol};
  }
  const Frame* frame = frames_.find(address);
  if (const Symbol* symbol = owner(address, frame)) {
    const std::string hot = hot_name(symbol->name);
    const Symbol* parent = hot.empty() ? nullptr : symbols_.named(hot);
    Function function = whole(parent == nullptr ? *symbol : *parent);
    if (std::ranges::none_of(function.ranges, [&](const Range& range) { return range.contains(address); }))
      function.ranges.push_back(extent(*symbol));
    return function;
  }
  if (frame != nullptr)
    return {
        fmt::format("{}@{:#x}", module_.name(), frame->range.low), {}, {frame->range}, NameSource::eh_frame};
  return {};
}

namespace {

constexpr int kStartCode = 32;           // instructions; glibc's start code has about fifteen
constexpr std::uint8_t kGuessed = 0xff;  // any symbol is a better name than these

/// The address that an instruction puts into the first argument's register, 0 if it does no such thing.
std::uint64_t first_argument(const DetailedInstruction& code, std::uint64_t address) {
  const ZydisDecodedOperand& to = code.operands[0];
  const ZydisDecodedOperand& from = code.operands[1];
  if (code.instruction.operand_count < 2 || to.type != ZYDIS_OPERAND_TYPE_REGISTER) return 0;
  if (to.reg.value != ZYDIS_REGISTER_RDI && to.reg.value != ZYDIS_REGISTER_EDI) return 0;
  if (code.instruction.mnemonic == ZYDIS_MNEMONIC_MOV && from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
    return from.imm.value.u;
  ZyanU64 target = 0;
  if (code.instruction.mnemonic != ZYDIS_MNEMONIC_LEA ||
      !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&code.instruction, &from, address, &target))) {
    return 0;
  }
  return target;
}

/// The start code passes main to __libc_start_main, which it calls first.
std::uint64_t main_of(const Module& module, std::uint64_t start) {
  if (module.is_aarch64()) return aarch64::main_of(module, start);
  const Decoder decoder(module);
  std::uint64_t address = start, found = 0;
  DetailedInstruction code;
  for (int i = 0; i < kStartCode && decoder.decode_details(address, code); ++i) {
    if (const std::uint64_t value = first_argument(code, address)) found = value;
    if (code.instruction.mnemonic == ZYDIS_MNEMONIC_CALL) return module.executable(found) ? found : 0;
    address += code.instruction.length;
  }
  return 0;
}

}  // namespace

std::vector<Symbol> entry_symbols(const Module& module) {
  GElf_Ehdr header{};
  const bool readable = module.elf() != nullptr && gelf_getehdr(module.elf(), &header) != nullptr;
  const bool known = module.is_x86_64() || module.is_aarch64();
  if (!readable || !known || !module.executable(header.e_entry)) return {};
  const std::uint64_t main = main_of(module, header.e_entry);
  if (main == 0) return {};
  return {{{header.e_entry, header.e_entry}, "_start", kGuessed}, {{main, main}, "main", kGuessed}};
}

}  // namespace culprit::structure
