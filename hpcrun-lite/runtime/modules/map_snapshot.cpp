// A table of the loaded modules for C libraries without _dl_find_object (map_snapshot.hpp). Modules that were
// mapped at the start are never unloaded, and stay. For later modules two tables take turns, so that a reader
// may still be in the older one; a table counts only if nothing was unloaded since it was read, which
// dlclose, interposed, counts.
#include "runtime/modules/map_snapshot.hpp"

#include "runtime/process/identity.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <atomic>
#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

constexpr std::size_t kMaxMapped = 512;
constexpr std::size_t kNames = 64 * 1024;
constexpr std::uint64_t kRefresh = 50'000'000;

struct Mapped {
  std::uint64_t begin, end, bias, eh_frame_hdr;
  const char* name;
};

/// One reading of the mappings. The first stays: what the loader mapped at the start is never unloaded. Two
/// take turns for what comes later: a reader may still be in the one before the latest.
struct Snapshot {
  Mapped modules[kMaxMapped];
  std::size_t count;
  char names[kNames];
  std::size_t names_used;
  std::uint32_t generation;
};

Snapshot first;
Snapshot later[2];
std::atomic<unsigned> latest{0};
std::atomic<bool> reading{false};
std::atomic<std::uint64_t> read_at{0};

/// Completes a module from the ELF header at its beginning; false if there is none.
bool read_headers(Mapped& module) {
  Elf64_Ehdr header;
  if (!copy_value(module.begin, header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  bool have_bias = false;
  std::uint64_t frames = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!copy_value(module.begin + header.e_phoff + i * sizeof segment, segment)) return false;
    if (segment.p_type == PT_LOAD && !have_bias) {
      module.bias = module.begin - (segment.p_vaddr & ~std::uint64_t{0xfff});
      have_bias = true;
    }
    if (segment.p_type == PT_GNU_EH_FRAME) frames = segment.p_vaddr;
  }
  module.eh_frame_hdr = frames == 0 ? 0 : module.bias + frames;
  return have_bias;
}

std::uint64_t hexadecimal(const char*& at) {
  std::uint64_t value = 0;
  for (;; ++at) {
    const char c = *at;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return value;
    value = value * 16 + static_cast<std::uint64_t>(digit);
  }
}

/// One line of /proc/self/maps: "begin-end perms offset device inode   path".
void add_line(Snapshot& snapshot, const char* line) {
  const char* at = line;
  Mapped mapped{};
  mapped.begin = hexadecimal(at);
  mapped.end = hexadecimal(++at);
  at += 6;  // " r-xp "
  const std::uint64_t offset = hexadecimal(at);
  for (int field = 0; field < 2; ++field) {  // device, inode
    while (*at == ' ') ++at;
    while (*at != ' ' && *at != '\0') ++at;
  }
  while (*at == ' ') ++at;
  if (*at != '/' && strcmp(at, "[vdso]") != 0) return;
  if (snapshot.count != 0 && strcmp(snapshot.modules[snapshot.count - 1].name, at) == 0 && offset != 0) {
    snapshot.modules[snapshot.count - 1].end = mapped.end;
    return;
  }
  const std::size_t length = strlen(at) + 1;
  if (offset != 0 || snapshot.count == kMaxMapped || snapshot.names_used + length > kNames) return;
  if (!read_headers(mapped)) return;
  mapped.name = snapshot.names + snapshot.names_used;
  memcpy(snapshot.names + snapshot.names_used, at, length);
  snapshot.names_used += length;
  snapshot.modules[snapshot.count++] = mapped;
}

void read_mappings(Snapshot& snapshot) {
  snapshot.count = 0;
  snapshot.names_used = 0;
  snapshot.generation = module_generation();
  const long descriptor = system_call(SYS_openat, AT_FDCWD, word("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  char buffer[4608];  // a line holds a path of up to 4096 bytes
  std::size_t filled = 0;
  for (long length = 0; (length = system_call(SYS_read, descriptor, word(buffer + filled),
                                              static_cast<long>(sizeof buffer - filled))) > 0;) {
    filled += static_cast<std::size_t>(length);
    char* line = buffer;
    while (char* end =
               static_cast<char*>(memchr(line, '\n', filled - static_cast<std::size_t>(line - buffer)))) {
      *end = '\0';
      add_line(snapshot, line);
      line = end + 1;
    }
    filled -= static_cast<std::size_t>(line - buffer);
    memmove(buffer, line, filled);
    if (filled == sizeof buffer) filled = 0;
  }
  system_call(SYS_close, descriptor);
}

/// Reads the mappings anew unless that was done a moment ago or is being done.
bool refresh() {
  const std::uint64_t current = now();
  if (current - read_at.load(std::memory_order_relaxed) < kRefresh) return false;
  if (reading.exchange(true, std::memory_order_acquire)) return false;
  const unsigned next = 1 - latest.load(std::memory_order_relaxed);
  read_mappings(later[next]);
  latest.store(next, std::memory_order_release);
  read_at.store(now(), std::memory_order_relaxed);
  reading.store(false, std::memory_order_release);
  return true;
}

bool look_up(const Snapshot& snapshot, std::uint64_t address, LoadedModule& module) {
  for (std::size_t i = 0; i < snapshot.count; ++i) {
    const Mapped& mapped = snapshot.modules[i];
    if (address < mapped.begin || address >= mapped.end) continue;
    module = {.begin = mapped.begin,
              .end = mapped.end,
              .bias = mapped.bias,
              .eh_frame_hdr = mapped.eh_frame_hdr,
              .name = strcmp(mapped.name, program_path()) == 0 ? "" : mapped.name};
    return true;
  }
  return false;
}

/// Looks in the latest reading, unless something was unloaded since, or is just being unloaded: another
/// module may lie there now, or nothing.
bool look_up_later(std::uint64_t address, LoadedModule& module) {
  const Snapshot& snapshot = later[latest.load(std::memory_order_acquire)];
  return look_up(snapshot, address, module) && snapshot.generation == module_generation() &&
         !module_is_unloading();
}

}  // namespace

void read_first_snapshot() {
  read_mappings(first);
}

bool find_in_snapshot(std::uint64_t address, LoadedModule& module) {
  if (look_up(first, address, module)) return true;
  return look_up_later(address, module) || (refresh() && look_up_later(address, module));
}

void forget_snapshot() {
  reading.store(false, std::memory_order_relaxed);
}

}  // namespace culprit::runtime

namespace culprit::runtime {
namespace {

std::atomic<std::uint32_t> generation{1};
std::atomic<std::uint32_t> unloading{0};

}  // namespace

bool module_is_unloading() {
  return unloading.load(std::memory_order_acquire) != 0;
}

void forget_unloading() {
  unloading.store(0, std::memory_order_relaxed);
}

std::uint32_t module_generation() {
  return generation.load(std::memory_order_acquire);
}

}  // namespace culprit::runtime

/// What an unloaded module's addresses mean may change from here on, and during the call.
CULPRIT_EXPORT int dlclose(void* handle) {
  static CULPRIT_REAL culprit::runtime::Real<int(void*)> real{"dlclose"};
  culprit::runtime::unloading.fetch_add(1, std::memory_order_acq_rel);
  culprit::runtime::generation.fetch_add(1, std::memory_order_acq_rel);
  const int result = real(handle);
  culprit::runtime::generation.fetch_add(1, std::memory_order_acq_rel);
  // A child that was forked in the middle has forgotten it.
  if (culprit::runtime::module_is_unloading())
    culprit::runtime::unloading.fetch_sub(1, std::memory_order_acq_rel);
  return result;
}
