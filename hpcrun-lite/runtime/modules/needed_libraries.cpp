#include "runtime/modules/needed_libraries.hpp"

#include <cstring>

#include <elf.h>
#include <link.h>

namespace culprit::runtime {
namespace {

/// A module's dynamic section, and the strings that it refers to; null where there is none.
struct Dynamic {
  const ElfW(Dyn) * entries = nullptr;
  const char* strings = nullptr;
};

/// Through the ELF header that a module's first mapping starts with.
Dynamic dynamic_of(const LoadedModule& module) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(module.begin);
  ElfW(Ehdr) header;
  if (module.end - module.begin < sizeof header) return {};
  memcpy(&header, bytes, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr))) return {};
  Dynamic dynamic;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    const std::uint64_t at = header.e_phoff + i * sizeof segment;
    if (at + sizeof segment > 4096) break;  // only what the first page surely holds
    memcpy(&segment, bytes + at, sizeof segment);
    const std::uint64_t begin = module.bias + segment.p_vaddr;
    if (segment.p_type != PT_DYNAMIC || begin < module.begin || begin >= module.end) continue;
    dynamic.entries = reinterpret_cast<const ElfW(Dyn)*>(begin);
  }
  if (dynamic.entries == nullptr) return {};
  for (const ElfW(Dyn)* each = dynamic.entries; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_STRTAB) continue;
    // The loader makes an address of it where it may write there.
    std::uint64_t address = each->d_un.d_ptr;
    if (address < module.begin) address += module.bias;
    if (address >= module.begin && address < module.end)
      dynamic.strings = reinterpret_cast<const char*>(address);
  }
  return dynamic.strings == nullptr ? Dynamic{} : dynamic;
}

const char* without_folder(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

}  // namespace

bool needs_library(const LoadedModule& module, const LoadedModule& library) {
  const Dynamic theirs = dynamic_of(library), needed = dynamic_of(module);
  if (theirs.entries == nullptr || needed.entries == nullptr) return false;
  const char* name = library.name == nullptr ? "" : without_folder(library.name);
  for (const ElfW(Dyn)* each = theirs.entries; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_SONAME) name = theirs.strings + each->d_un.d_val;
  }
  for (const ElfW(Dyn)* each = needed.entries; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_NEEDED && strcmp(without_folder(needed.strings + each->d_un.d_val), name) == 0)
      return true;
  }
  return false;
}

}  // namespace culprit::runtime
