#include "runtime/system/c_library.hpp"

#include "runtime/system/system_calls.hpp"

#include <cstdint>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

// From the linker: the beginning of this library. And sigaction's other name in the C
// library, which nobody stands before.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,misc-use-internal-linkage)
extern __attribute__((visibility("hidden"))) const Elf64_Ehdr __ehdr_start;
int __sigaction(int signal, const struct sigaction* action, struct sigaction* before);
// NOLINTEND(bugprone-reserved-identifier,misc-use-internal-linkage)
}

namespace culprit::runtime {
namespace {

/// A value of the dynamic section as an address, whether or not the loader has made it one.
std::uint64_t address_of(std::uint64_t value) {
  const auto base = reinterpret_cast<std::uint64_t>(&__ehdr_start);
  return value < base ? base + value : value;
}

std::uint64_t own(Elf64_Sxword tag) {
  for (const Elf64_Dyn* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == tag) return entry->d_un.d_val;
  }
  return 0;
}

template <typename Value>
const Value* own_table(Elf64_Sxword tag) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the section holds numbers
  return reinterpret_cast<const Value*>(address_of(own(tag)));
}

bool in_one_library(const void* one, const void* other) {
  Dl_info first;
  Dl_info second;
  return dladdr(one, &first) != 0 && dladdr(other, &second) != 0 && first.dli_fbase == second.dli_fbase;
}

/// Writes an entry of the table that calls go through, which the loader has made read-only.
void overwrite(void** slot, void* function) {
  constexpr std::uint64_t kPage = 4096;
  const long page = static_cast<long>(reinterpret_cast<std::uint64_t>(slot) / kPage * kPage);
  if (system_call(SYS_mprotect, page, kPage, PROT_READ | PROT_WRITE) != 0) return;
  *slot = function;
  system_call(SYS_mprotect, page, kPage, PROT_READ);
}

/// What the loader has bound to somebody else, though `library` has it.
void bind(void** slot, const char* name, void* library) {
  void* function = dlsym(library, name);
  if (function == nullptr) {
    dlerror();  // the message is none of the program's
  } else if (*slot != nullptr && *slot != function && !in_one_library(*slot, function)) {
    overwrite(slot, function);
  }
}

void bind_all(Elf64_Sxword relocations, Elf64_Sxword bytes, void* library) {
  const auto* relocation = own_table<Elf64_Rela>(relocations);
  const auto* symbols = own_table<Elf64_Sym>(DT_SYMTAB);
  const auto* names = own_table<char>(DT_STRTAB);
  for (std::uint64_t left = own(bytes) / sizeof *relocation; left != 0; --left, ++relocation) {
    const std::uint64_t type = ELF64_R_TYPE(relocation->r_info);
    if (!machine::is_call_slot(type)) continue;
    const Elf64_Sym& symbol = symbols[ELF64_R_SYM(relocation->r_info)];
    if (symbol.st_shndx != SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the table holds numbers
    bind(reinterpret_cast<void**>(address_of(relocation->r_offset)), names + symbol.st_name, library);
  }
}

}  // namespace

void bind_to_c_library() {
  void* library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  bind_all(DT_JMPREL, DT_PLTRELSZ, library);
  bind_all(DT_RELA, DT_RELASZ, library);
}

int set_own_action(int signal, const struct sigaction* action, struct sigaction* before) {
  return __sigaction(signal, action, before);
}

}  // namespace culprit::runtime
