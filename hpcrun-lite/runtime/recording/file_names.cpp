// The kernel leaves a system call's arguments in the registers, both where a signal breaks the call off to be
// started over and where it comes at the call's end. So a sample in one of the C library's functions that
// read and write knows the descriptor, and the kernel its file, which cannot change meanwhile but by the
// program's own fault. Of a file that is being opened the descriptor is what the call returns: opening cannot
// be broken off where it waits for a disk or a server, so the signal comes at its end. Cost: a comparison per
// sample; in such a call a look into /proc, and the next walk looks all frames up anew.
#include "runtime/recording/file_names.hpp"

#include "runtime/recording/region_names.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/system_calls.hpp"
#include "runtime/system/text.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>

namespace culprit::runtime {
namespace {

struct Call {
  std::uint64_t low, high;
  bool opens;
};

/// With a descriptor as what they return.
constexpr std::array kOpening = {"open64", "openat64", "creat64", "__open_nocancel", "__open64_nocancel"};
/// With a descriptor as their first argument.
constexpr std::array kUsing = {
    "read",       "write",     "pread64",    "pwrite64",    "readv",           "writev",
    "preadv64",   "pwritev64", "preadv64v2", "pwritev64v2", "__read_nocancel", "__write_nocancel",
    "fsync",      "fdatasync", "syncfs",     "ftruncate64", "sync_file_range", "__pread64_nocancel",
    "fallocate64"};

Call calls[kOpening.size() + kUsing.size()];  // that there are
std::size_t call_count = 0;
std::atomic<bool> full{false};
std::atomic<std::uint32_t> named{0};

constexpr char kPrefix[] = "file ";
constexpr char kFurther[] = "file <further files>";

const Call* call_at(std::uint64_t pc) {
  for (std::size_t i = 0; i < call_count; ++i) {
    if (pc >= calls[i].low && pc < calls[i].high) return &calls[i];
  }
  return nullptr;
}

/// The name of what stands for a file. Threads that find the last room at the same time may name one more
/// each.
RegionName name_with_room(const char* text) {
  if (const RegionName known = known_region_name(text); known != kFurtherRegions) return known;
  if (named.load(std::memory_order_relaxed) >= kNamedFiles) {
    full.store(true, std::memory_order_relaxed);
    return region_name(kFurther);
  }
  named.fetch_add(1, std::memory_order_relaxed);
  return region_name(text);
}

/// Pipes and sockets have a number each, which says nothing; and what MPI reads of the system at its start
/// would take all room.
const char* kind_of(const char* link) {
  struct Kind {
    const char* beginning;
    const char* name;
  };
  constexpr std::array<Kind, 5> kKinds = {{{"pipe:", "<pipe>"},
                                           {"socket:", "<socket>"},
                                           {"anon_inode:", "<anonymous>"},
                                           {"/sys/", "/sys"},
                                           {"/proc/", "/proc"}}};
  for (const Kind& kind : kKinds) {
    if (strncmp(link, kind.beginning, strlen(kind.beginning)) == 0) return kind.name;
  }
  return nullptr;
}

/// The name of the region that stands for a descriptor's file; kFurtherRegions where it has none.
RegionName name_of(std::uint64_t descriptor) {
  Text<48> entry;
  entry
      .add("/proc/thread-self/fd/")  // that of the process is empty once its first thread has ended
      .number(descriptor);
  char link[4096];
  const long got =
      system_call(SYS_readlinkat, AT_FDCWD, word(entry.c_str()), word(&link[0]), sizeof link - 1);
  if (got <= 0) return kFurtherRegions;
  const auto size = static_cast<std::size_t>(got);
  link[size] = '\0';
  Text<kRegionNameBytes + 1> name;
  name.add(kPrefix);
  if (const char* kind = kind_of(link); kind != nullptr) {
    name.add(kind);
  } else {
    // The end of a long path says more than its beginning.
    constexpr std::size_t kRoom = kRegionNameBytes - sizeof kPrefix - 3;
    if (size > kRoom) name.add("...");
    name.add(size > kRoom ? link + (size - kRoom) : link);
  }
  return name_with_room(name.c_str());
}

/// The descriptor of the call that was interrupted; a number that is none where opening failed or goes on.
std::uint64_t descriptor(const Call& call, const void* context) {
  if (!call.opens) return machine::first_argument(context);
  const bool ended = machine::in_system_call(context) && !machine::starts_over(context);
  return ended ? machine::system_call_result(context) : ~std::uint64_t{0};
}

void find_call(void* library, const char* name, bool opens) {
  void* address = dlsym(library, name);
  Dl_info info{};
  void* entry = nullptr;
  if (address == nullptr || dladdr1(address, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) return;
  const auto low = reinterpret_cast<std::uint64_t>(address);
  const std::uint64_t size = static_cast<const ElfW(Sym)*>(entry)->st_size;
  calls[call_count++] = {.low = low, .high = low + size, .opens = opens};
}

}  // namespace

void name_files() {
  void* library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  for (const char* const name : kOpening) find_call(library, name, true);
  for (const char* const name : kUsing) find_call(library, name, false);
  dlclose(library);
}

measurement::NodeIndex current_path_with_file(Thread* thread, const unwind::Registers& start,
                                              WalkFlaws& flaws) {
  Regions& regions = thread->regions;
  const bool room = regions.changing == 0 && regions.depth < Regions::kMax;
  const Call* const call = room && start.context != nullptr ? call_at(start.pc) : nullptr;
  if (call == nullptr) return current_path(thread, start, flaws);
  const RegionName name = name_of(descriptor(*call, start.context));
  if (name == kFurtherRegions) return current_path(thread, start, flaws);
  regions.open[regions.depth] = {.frame = start.sp, .caller = 0, .name = name, .since_ns = 0};
  ++regions.depth;
  ++regions.changes;  // paths that are known lack it
  const measurement::NodeIndex node = current_path(thread, start, flaws);
  --regions.depth;
  ++regions.changes;
  return node;
}

void note_file_names() {
  if (file.open() && full.load(std::memory_order_relaxed))
    file.note("more than 64 files were read or written (--files): the others are shown as one");
}

}  // namespace culprit::runtime
