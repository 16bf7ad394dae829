#include "runtime/modules/dynamic_section.hpp"

#include "machine/machine.hpp"

namespace culprit::runtime {
namespace {

constexpr std::uint64_t kPage = 4096;

/// `bytes` behind `at`.
template <typename Entry>
const Entry* behind(const Entry* at, std::size_t bytes) {
  return reinterpret_cast<const Entry*>(reinterpret_cast<const char*>(at) + bytes);
}

}  // namespace

DynamicSection::DynamicSection(const dl_phdr_info& info) : info_(info) {
  note_segments();
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC && whole_.holds(begin))
      note_entries(reinterpret_cast<const ElfW(Dyn)*>(begin));
  }
  if (symbols_ != nullptr && strings_ != nullptr) return;
  for (Relocations& table : tables_) table.count = 0;
}

void DynamicSection::note_segments() {
  whole_.begin = ~std::uint64_t{0};
  for (unsigned i = 0; i < info_.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info_.dlpi_phdr[i];
    const std::uint64_t begin = info_.dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
    if (segment.p_type == PT_LOAD) {
      if (begin < whole_.begin) whole_.begin = begin;
      if (end > whole_.end) whole_.end = end;
    } else if (segment.p_type == PT_GNU_RELRO) {
      relro_ = {.begin = begin & ~(kPage - 1), .end = end & ~(kPage - 1)};  // as _dl_protect_relro does
    }
  }
}

void DynamicSection::note_entries(const ElfW(Dyn) * entry) {
  for (; entry->d_tag != DT_NULL; ++entry) {
    // The loader makes an address of it where it may write there.
    const std::uint64_t value = entry->d_un.d_val;
    const std::uint64_t address = whole_.holds(value) ? value : value + info_.dlpi_addr;
    switch (entry->d_tag) {
      case DT_RELA:
        tables_[0].first = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        tables_[0].count = value / sizeof(ElfW(Rela));
        break;
      case DT_JMPREL:
        tables_[1].first = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        tables_[1].count = value / sizeof(ElfW(Rela));
        break;
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        strings_ = reinterpret_cast<const char*>(address);
        break;
      case DT_VERSYM:
        symbol_versions_ = reinterpret_cast<const ElfW(Versym)*>(address);
        break;
      case DT_VERNEED:
        needed_versions_ = reinterpret_cast<const ElfW(Verneed)*>(address);
        break;
      case DT_SYMBOLIC:
        symbolic_ = true;
        break;
      case DT_FLAGS:
        symbolic_ = symbolic_ || (value & DF_SYMBOLIC) != 0;
        break;
      default:
        break;
    }
  }
  for (Relocations& table : tables_) {
    if (table.first == nullptr) table.count = 0;
  }
}

bool DynamicSection::is_slot(const ElfW(Rela) & relocation, ImportSlot& slot) const {
  const auto type = ELF64_R_TYPE(relocation.r_info);
  if (!machine::is_call_slot(type)) return false;
  const std::size_t symbol = ELF64_R_SYM(relocation.r_info);
  if (symbol == 0) return false;
  slot.name = strings_ + symbols_[symbol].st_name;
  slot.symbol = symbol;
  slot.word = reinterpret_cast<void**>(info_.dlpi_addr + relocation.r_offset);
  return true;
}

const char* DynamicSection::version_of(const ImportSlot& slot) const {
  if (symbol_versions_ == nullptr || needed_versions_ == nullptr) return nullptr;
  constexpr ElfW(Versym) kNumber = 0x7fff;
  const unsigned number = symbol_versions_[slot.symbol] & kNumber;
  for (const ElfW(Verneed)* library = needed_versions_;; library = behind(library, library->vn_next)) {
    const auto* version = reinterpret_cast<const ElfW(Vernaux)*>(behind(library, library->vn_aux));
    for (unsigned i = 0; i < library->vn_cnt; ++i, version = behind(version, version->vna_next)) {
      if ((version->vna_other & kNumber) == number) return strings_ + version->vna_name;
    }
    if (library->vn_next == 0) return nullptr;
  }
}

bool DynamicSection::holds(const void* address) const {
  return whole_.holds(reinterpret_cast<std::uint64_t>(address));
}

bool DynamicSection::defines(const ImportSlot& slot, const void* address) const {
  const ElfW(Sym)& symbol = symbols_[slot.symbol];
  return symbol.st_shndx != SHN_UNDEF &&
         info_.dlpi_addr + symbol.st_value == reinterpret_cast<std::uint64_t>(address);
}

bool DynamicSection::is_writable(const void* word) const {
  for (unsigned i = 0; i < info_.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info_.dlpi_phdr[i];
    const std::uint64_t begin = info_.dlpi_addr + segment.p_vaddr;
    const Range range{.begin = begin, .end = begin + segment.p_memsz};
    if (segment.p_type == PT_LOAD && range.holds(reinterpret_cast<std::uint64_t>(word)))
      return (segment.p_flags & PF_W) != 0;
  }
  return false;
}

bool DynamicSection::is_protected(const void* word) const {
  return relro_.holds(reinterpret_cast<std::uint64_t>(word));
}

}  // namespace culprit::runtime
