// Finds which function a stub of the procedure linkage table calls (System V ABI for x86-64, chapter 5;
// docs/algorithms.md 15). A stub jumps through a slot, whose relocation names the symbol; a lazy stub may
// push the relocation's index instead. So stubs are decoded up to their jump. Cost: one pass over the
// relocations, and some instructions for each address that is asked for.
#include "structure/plt.hpp"

#include "structure/aarch64_code.hpp"
#include "structure/machine_code.hpp"

#include <algorithm>
#include <cstring>

#include <Zydis/Zydis.h>

namespace culprit::structure {
namespace {

/// The symbol of one relocation, empty where it has none.
std::string symbol_of(Elf_Data* symbols, Elf* elf, std::size_t names, const GElf_Rela& relocation) {
  GElf_Sym symbol{};
  if (gelf_getsym(symbols, static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol) == nullptr) return {};
  const char* name = elf_strptr(elf, names, symbol.st_name);
  return name == nullptr ? std::string() : std::string(name);
}

}  // namespace

LinkageStubs::LinkageStubs(const Module& module) : module_(module) {
  if (module.is_x86_64()) note_x86_64_tables(module);
  if (module.is_aarch64()) note_aarch64_table(module.section(".plt"));
  if (!tables_.empty()) read_relocations(module);
}

void LinkageStubs::note_x86_64_tables(const Module& module) {
  for (const char* name : {".plt", ".plt.sec", ".plt.got", ".plt.bnd"}) {
    const Module::Section section = module.section(name);
    if (section.bytes.empty()) continue;
    const bool plausible = section.entry_size == 8 || section.entry_size == 16;
    tables_.push_back(
        {{section.address, section.address + section.bytes.size()}, plausible ? section.entry_size : 16});
  }
}

/// The table's head is longer than a stub.
void LinkageStubs::note_aarch64_table(const Module::Section& section) {
  if (section.bytes.size() < aarch64::kStubHead) return;
  const std::uint64_t first = section.address + aarch64::kStubHead;
  tables_.push_back({{section.address, first}, aarch64::kStubHead});
  tables_.push_back({{first, section.address + section.bytes.size()}, aarch64::stub_size(section.bytes)});
}

void LinkageStubs::read_relocations(const Module& module) {
  const std::uint64_t data = module.is_aarch64() ? R_AARCH64_GLOB_DAT : R_X86_64_GLOB_DAT;
  std::size_t section_names = 0;
  Elf* elf = module.elf();
  if (elf_getshdrstrndx(elf, &section_names) != 0) return;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header{}, symbol_header{};
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA) continue;
    const char* name = elf_strptr(elf, section_names, header.sh_name);
    const bool lazy = name != nullptr && std::string_view(name) == ".rela.plt";
    Elf_Scn* symbol_section = elf_getscn(elf, header.sh_link);
    if (symbol_section == nullptr || gelf_getshdr(symbol_section, &symbol_header) == nullptr) continue;
    Elf_Data* relocations = elf_getdata(section, nullptr);
    Elf_Data* symbols = elf_getdata(symbol_section, nullptr);
    if (relocations == nullptr || symbols == nullptr || header.sh_entsize == 0) continue;
    const std::size_t count = relocations->d_size / sizeof(Elf64_Rela);
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Rela relocation{};
      if (gelf_getrela(relocations, static_cast<int>(i), &relocation) == nullptr) break;
      const auto type = GELF_R_TYPE(relocation.r_info);
      if (!lazy && type != data) continue;
      std::string callee = symbol_of(symbols, elf, symbol_header.sh_link, relocation);
      if (lazy) by_index_.push_back(callee);
      if (!callee.empty()) slots_.emplace(relocation.r_offset, std::move(callee));
    }
  }
}

std::optional<LinkageStubs::Stub> LinkageStubs::find(std::uint64_t address) const {
  for (const Table& table : tables_) {
    if (!table.range.contains(address)) continue;
    const std::uint64_t low = address - (address - table.range.low) % table.stub_size;
    const Range range{low, std::min(low + table.stub_size, table.range.high)};
    return Stub{range, callee_of(range)};
  }
  return std::nullopt;
}

std::string LinkageStubs::called_before(std::uint64_t address) const {
  if (const std::uint64_t target = callee_before(module_, address); target != 0) {
    const std::optional<Stub> stub = find(target);
    return stub ? stub->callee : std::string();
  }
  constexpr std::uint64_t kThroughSlot = 6;  // bytes of a call through a slot; the last four are the distance
  if (!module_.is_x86_64() || address < kThroughSlot) return {};
  const auto code = module_.bytes(address - kThroughSlot);
  if (code.size() < kThroughSlot || code[0] != std::byte{0xff} || code[1] != std::byte{0x15}) return {};
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + 2, sizeof distance);
  const auto slot = slots_.find(address + static_cast<std::uint64_t>(std::int64_t{distance}));
  return slot == slots_.end() ? std::string() : slot->second;
}

std::string LinkageStubs::callee_of(Range stub) const {
  if (module_.is_aarch64()) {
    const auto slot = slots_.find(aarch64::slot_of(module_, stub));
    return slot == slots_.end() ? std::string() : slot->second;
  }
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  auto code = module_.bytes(stub.low);
  code = code.first(std::min<std::size_t>(code.size(), stub.high - stub.low));
  std::uint64_t pushed = by_index_.size();
  for (std::uint64_t at = stub.low; !code.empty();) {
    ZydisDecodedInstruction instruction;
    if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), &instruction)))
      break;
    at += instruction.length;
    if (instruction.mnemonic == ZYDIS_MNEMONIC_PUSH && instruction.raw.imm[0].size != 0) {
      pushed = instruction.raw.imm[0].value.u;
    } else if (instruction.mnemonic == ZYDIS_MNEMONIC_JMP) {
      const bool through_slot = instruction.raw.modrm.mod == 0 && instruction.raw.modrm.rm == 5;
      if (through_slot && instruction.raw.disp.size != 0) {
        const auto found = slots_.find(at + static_cast<std::uint64_t>(instruction.raw.disp.value));
        return found == slots_.end() ? std::string() : found->second;
      }
      break;
    }
    code = code.subspan(instruction.length);
  }
  return pushed < by_index_.size() ? by_index_[pushed] : std::string();
}

}  // namespace culprit::structure
