// Finds the load module of an address in the signal handler, without locks: by _dl_find_object of glibc 2.35
// and later, else in a snapshot of the mappings (map_snapshot.cpp). The build-id is read through the ELF
// header in memory. The MPI library is recognized by its name, our own libraries by their addresses.
#include "runtime/modules/modules.hpp"

#include "runtime/modules/map_snapshot.hpp"
#include "runtime/process/identity.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/text.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

namespace culprit::runtime {
namespace {

/// glibc's struct dl_find_object (2.35 and later), as its ABI has it: declared here so that one build serves
/// older versions as well.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  link_map* map;
  void* eh_frame;
  unsigned long long reserved[7];
};
using FindObject = int (*)(void*, FoundObject*);

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMaxOwn = 4;
constexpr std::size_t kMaxNote = 4096;  // a longer PT_NOTE segment is not read

/// Where a module lies, from its first segment to its last.
struct Extent {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  [[nodiscard]] bool holds(std::uint64_t address) const { return begin <= address && address < end; }
};

FindObject find_object = nullptr;
Extent program;
Extent vdso;  // empty: there is none
std::atomic<std::uint64_t> own_begin[kMaxOwn];
std::atomic<bool> mpi_sampled{false};

struct BuildId {
  const unsigned char* bytes = nullptr;
  std::size_t size = 0;
};

/// The GNU build-id note among the notes at [begin, begin + size).
BuildId find_build_id(const unsigned char* begin, std::size_t size) {
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    memcpy(&note, begin + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t content = name + ((note.n_namesz + 3U) & ~3U);
    if (content + note.n_descsz > size || note.n_namesz > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(begin + name, "GNU", 4) == 0) {
      return {begin + content, note.n_descsz};
    }
    at = content + ((note.n_descsz + 3U) & ~3U);
  }
  return {};
}

/// Reads the build-id through the ELF header that a module's first mapping starts with.
BuildId build_id(const LoadedModule& module) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(module.begin);
  ElfW(Ehdr) header;
  if (module.end - module.begin < sizeof header) return {};
  memcpy(&header, bytes, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr))) return {};
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    const std::uint64_t at = header.e_phoff + i * sizeof segment;
    if (at + sizeof segment > 4096) break;  // only what the first page surely holds
    memcpy(&segment, bytes + at, sizeof segment);
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNote) continue;
    const std::uint64_t begin = module.bias + segment.p_vaddr;
    if (begin < module.begin || begin + segment.p_filesz > module.end) continue;
    const BuildId id = find_build_id(reinterpret_cast<const unsigned char*>(begin), segment.p_filesz);
    if (id.size != 0) return id;
  }
  return {};
}

bool is_mpi(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr &&
         (strncmp(slash, "/libmpi.so", 10) == 0 || strncmp(slash, "/libmpich.so", 12) == 0);
}

bool is_own(const LoadedModule& module) {
  for (const auto& begin : own_begin) {
    if (begin.load(std::memory_order_relaxed) == module.begin) return true;
  }
  return false;
}

/// The loader lists the program first.
int note_program(dl_phdr_info* info, std::size_t /*size*/, void* /*unused*/) {
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    program.begin = std::min(program.begin, begin & ~(kPage - 1));
    program.end = std::max(program.end, begin + segment.p_memsz);
  }
  return 1;
}

/// An absolute path for the loader's name of a module. The loader keeps a relative name as it was given.
const char* module_path(const LoadedModule& module, PathText& absolute) {
  if (module.begin == vdso.begin) return "[vdso]";
  if (module.name == nullptr || module.name[0] == '\0') return program_path();
  if (module.name[0] == '/') return module.name;
  return absolute.add(start_directory()).add("/").add(module.name).c_str();
}

}  // namespace

void prepare_modules() {
  if (!process.no_find_object)
    find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
  if (find_object == nullptr) read_first_snapshot();
  dl_iterate_phdr(note_program, nullptr);
  if (LoadedModule found; find_loaded(getauxval(AT_SYSINFO_EHDR), found)) vdso = {found.begin, found.end};
  add_own_library(reinterpret_cast<std::uint64_t>(&mpi_sampled));
}

bool find_loaded(std::uint64_t address, LoadedModule& module) {
  if (find_object == nullptr) return find_in_snapshot(address, module);
  FoundObject found{};
  if (find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  module.begin = reinterpret_cast<std::uint64_t>(found.map_start);
  module.end = reinterpret_cast<std::uint64_t>(found.map_end);
  // Of a program whose segments leave pages free between them, the loader reports the one segment that holds
  // the address: neither the header, with the build-id, nor the call-frame information lies in that.
  if (found.map->l_name[0] == '\0' && program.holds(address)) {
    module.begin = program.begin;
    module.end = program.end;
  }
  module.bias = found.map->l_addr;
  module.eh_frame_hdr = reinterpret_cast<std::uint64_t>(found.eh_frame);
  module.name = found.map->l_name;
  return true;
}

bool find_module(void* /*context*/, std::uint64_t address, unwind::CodeModule& module) {
  LoadedModule loaded;
  if (!find_loaded(address, loaded)) return false;
  module.begin = loaded.begin;
  module.end = loaded.end;
  module.bias = loaded.bias;
  module.eh_frame_hdr = loaded.eh_frame_hdr;
  module.own = is_own(loaded);
  PathText absolute;
  const char* path = module_path(loaded, absolute);
  if (is_mpi(path)) mpi_sampled.store(true, std::memory_order_relaxed);
  const BuildId id = build_id(loaded);
  const bool executable = loaded.name != nullptr && loaded.name[0] == '\0' && loaded.begin != vdso.begin;
  using measurement::LiveFile;
  const unsigned flags = (module.own ? LiveFile::kModuleOwn : 0U) |
                         (executable ? LiveFile::kModuleExecutable : 0U) |
                         (loaded.begin == vdso.begin ? LiveFile::kModuleVdso : 0U) |
                         (loaded.eh_frame_hdr == 0 ? LiveFile::kModuleNoUnwind : 0U);
  module.index = file.module(loaded.bias, path, id.bytes, id.size, flags);
  return true;
}

bool is_in_vdso(std::uint64_t address) {
  return vdso.holds(address);
}

void add_own_library(std::uint64_t address) {
  LoadedModule module;
  if (!find_loaded(address, module)) return;
  for (auto& begin : own_begin) {
    std::uint64_t none = 0;
    if (begin.load(std::memory_order_relaxed) == module.begin ||
        begin.compare_exchange_strong(none, module.begin, std::memory_order_relaxed)) {
      return;
    }
  }
}

bool mpi_was_sampled() {
  return mpi_sampled.load(std::memory_order_relaxed);
}

}  // namespace culprit::runtime
