// Which copy of a library a caller means, where the program itself is linked with none: one that all see
// (RTLD_GLOBAL) and that was there before the caller, else that of the caller's dependencies. It is looked
// for once for each library that calls, since that takes the loader's lock, and remembered until that library
// is unloaded. Copies in use stay loaded: their addresses are kept.
#include "runtime/modules/library_function.hpp"

#include "runtime/modules/modules.hpp"
#include "runtime/modules/needed_libraries.hpp"
#include "runtime/system/real.hpp"

#include <dlfcn.h>
#include <link.h>

// The bounds of the section, from the linker.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,misc-use-internal-linkage)
extern __attribute__((visibility("hidden"))) culprit::runtime::LibraryFunction __start_culprit_of_library[];
extern __attribute__((visibility("hidden"))) culprit::runtime::LibraryFunction __stop_culprit_of_library[];
// NOLINTEND(bugprone-reserved-identifier,misc-use-internal-linkage)
}

namespace culprit::runtime {
namespace {

constexpr std::size_t kLibraries = LibraryFunction::kLibraries, kCallers = 1024;
constexpr std::uint32_t kUnknown = 0, kNone = kLibraries + 1;  // else a library's number, from 1

/// Ours would tell everybody that something may have been unloaded.
CULPRIT_REAL constinit Real<int(void*)> close_library{"dlclose"};

/// A copy of the library. Never forgotten.
struct Library {
  std::atomic<std::uint64_t> bias;   ///< the difference of its addresses, and 1; 0: none
  std::atomic<std::uint64_t> begin;  ///< where it lies, a moment later
};
constinit Library libraries[kLibraries] = {};
/// A module that calls.
struct Caller {
  std::atomic<std::uint64_t> begin;  ///< where it lies; 0: none
  std::atomic<std::uint64_t> name;   ///< name_hash(); 0: not yet, or no more
  std::atomic<std::uint32_t> library;
};
constinit Caller callers[kCallers] = {};
constinit std::atomic<std::uint32_t> callers_seen{0};  // the generation of modules that they are of
constinit std::atomic<bool> prepared{false};
constinit std::atomic<std::uint64_t> our_bias{0};
/// The copy that a call had last: of this thread, and of any.
__attribute__((tls_model("initial-exec"))) __thread std::uint32_t last_library;
constinit std::atomic<std::uint32_t> any_library{kUnknown};
/// That of the work that the thread was given.
__attribute__((tls_model("initial-exec"))) __thread std::uint32_t given_library;
/// Those of the sections that the thread is in.
constexpr std::uint32_t kSections = 16;
struct Sections {
  std::uint32_t depth;
  std::uint32_t library[kSections];
};
__attribute__((tls_model("initial-exec"))) __thread Sections sections;

bool find_holder(const void* place, LoadedModule& module) {
  return find_loaded_now(reinterpret_cast<std::uint64_t>(place), module);
}

bool is_ours(const LoadedModule& module) {
  return module.bias == our_bias.load(std::memory_order_relaxed);
}

/// What `scope` means by the name, if that is none of ours.
void* look_up(void* scope, const char* name, LoadedModule& holder) {
  void* found = dlsym(scope, name);
  return found != nullptr && find_holder(found, holder) && !is_ours(holder) ? found : nullptr;
}

/// The number of the copy at `holder`; all of its functions are looked up at once, as `scope` sees them: at
/// their first calls others may wait for the loader's lock, and be waited for.
std::uint32_t number_of(const LoadedModule& holder, void* scope) {
  const std::uint64_t bias = holder.bias + 1;
  for (std::uint32_t i = 0; i < kLibraries; ++i) {
    std::uint64_t there = libraries[i].bias.load(std::memory_order_acquire);
    if (there == 0) {
      if (holder.name == nullptr || dlopen(holder.name, RTLD_LAZY | RTLD_NOLOAD) == nullptr) return kNone;
      for (LibraryFunction* each = __start_culprit_of_library; each != __stop_culprit_of_library; ++each) {
        LoadedModule other;
        void* found = look_up(scope, each->name, other);
        void* empty = nullptr;  // another thread may be at another library's
        if (found != nullptr) each->own[i].compare_exchange_strong(empty, found, std::memory_order_release);
      }
      if (libraries[i].bias.compare_exchange_strong(there, bias, std::memory_order_acq_rel)) {
        libraries[i].begin.store(holder.begin, std::memory_order_release);
        there = bias;
      }
    }
    if (there == bias) return i + 1;
  }
  return kNone;
}

struct Order {
  std::uint64_t one, other;
};

int which_comes_first(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  const Order& order = *static_cast<const Order*>(data);
  return info->dlpi_addr == order.one ? 1 : info->dlpi_addr == order.other ? 2 : 0;
}

/// Whether the loader has had `one` for longer. That takes its lock of the list of modules, which it holds
/// for moments only.
bool was_before(const LoadedModule& one, const LoadedModule& other) {
  Order order{.one = one.bias, .other = other.bias};
  return dl_iterate_phdr(which_comes_first, &order) == 1;
}

/// The copy that a module means. Takes the loader's lock.
std::uint32_t search(const LoadedModule& caller, const char* name) {
  LoadedModule holder;
  // The loader looks first among what all see; what came there after the caller was bound is not meant.
  if (look_up(RTLD_NEXT, name, holder) != nullptr && was_before(holder, caller))
    return number_of(holder, RTLD_NEXT);
  if (caller.name == nullptr || caller.name[0] == '\0') return kNone;
  void* scope = dlopen(caller.name, RTLD_LAZY | RTLD_NOLOAD);
  if (scope == nullptr) return kNone;
  const std::uint32_t found = look_up(scope, name, holder) != nullptr ? number_of(holder, scope) : kNone;
  close_library(scope);
  return found;
}

/// Tells a module from another that was loaded at its place since. Not 0.
std::uint64_t name_hash(const LoadedModule& module) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char* at = module.name == nullptr ? "" : module.name; *at != '\0'; ++at)
    hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001b3U;
  return hash | 1;
}

/// What was unloaded calls no more, and its addresses may be another's. What is still there stays known: to
/// look for it again, a thread would have to wait for the loader, which may be waiting for that thread.
void forget_unloaded_callers() {
  const std::uint32_t generation = module_generation();
  if (callers_seen.load(std::memory_order_acquire) == generation) return;
  for (Caller& caller : callers) {
    const std::uint64_t begin = caller.begin.load(std::memory_order_acquire);
    std::uint64_t name = caller.name.load(std::memory_order_relaxed);
    LoadedModule module;
    if (begin == 0 || name == 0) continue;  // another thread is about to enter it
    if (find_loaded_now(begin, module) && module.begin == begin && name_hash(module) == name) continue;
    if (!caller.name.compare_exchange_strong(name, 0, std::memory_order_relaxed)) continue;
    caller.library.store(kUnknown, std::memory_order_relaxed);
    caller.begin.store(0, std::memory_order_release);
  }
  callers_seen.store(generation, std::memory_order_release);
}

/// Its place among those that call, a new one at its first call; null where there is none left.
Caller* place_of(const LoadedModule& module) {
  const std::size_t first = static_cast<std::size_t>(module.begin * 0x9e3779b97f4a7c15U >> 54);
  for (std::size_t i = 0; i < kCallers; ++i) {
    Caller& caller = callers[(first + i) % kCallers];
    std::uint64_t there = caller.begin.load(std::memory_order_acquire);
    if (there == module.begin) return &caller;
    if (there != 0) continue;
    if (caller.begin.compare_exchange_strong(there, module.begin, std::memory_order_acq_rel)) {
      caller.name.store(name_hash(module), std::memory_order_relaxed);
      return &caller;
    }
    if (there == module.begin) return &caller;
  }
  return nullptr;
}

/// The copy that the module is, or is linked with where the thread was given work of that: then nothing has
/// to be looked for, which may be while the loader waits for that work. Else kUnknown.
std::uint32_t library_at_hand(const LoadedModule& module) {
  for (std::uint32_t i = 0; i < kLibraries;
       ++i) {  // it calls functions of the program, whose last call jumps
    if (libraries[i].begin.load(std::memory_order_acquire) == module.begin) return i + 1;
  }
  if (given_library == kUnknown) return kUnknown;
  const std::uint64_t begin = libraries[given_library - 1].begin.load(std::memory_order_acquire);
  LoadedModule library;
  const bool known = begin != 0 && find_loaded_now(begin, library);
  return known && needs_library(module, library) ? given_library : kUnknown;
}

/// Of the code at `place`.
std::uint32_t library_of(const void* place, const char* name) {
  LoadedModule module;
  if (!find_holder(place, module) || is_ours(module)) return kNone;
  forget_unloaded_callers();
  Caller* caller = place_of(module);
  if (caller == nullptr) return kNone;
  std::uint32_t library = caller->library.load(std::memory_order_acquire);
  if (library != kUnknown) return library;
  library = library_at_hand(module);
  if (library == kUnknown) {
    library = search(module, name);
    dlerror();  // the messages are none of the program's
  }
  caller->library.store(library, std::memory_order_release);
  return library;
}

/// Of anything that is loaded: nobody has called yet whose library is known.
std::uint32_t library_of_any(const char* name) {
  LoadedModule holder;
  if (look_up(RTLD_NEXT, name, holder) != nullptr) return number_of(holder, RTLD_NEXT);
  void* program = dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr) return kNone;
  const link_map* module = nullptr;
  std::uint32_t found = kNone;
  if (dlinfo(program, RTLD_DI_LINKMAP, &module) == 0) {
    for (; module != nullptr && found == kNone; module = module->l_next)
      found = search({.bias = module->l_addr, .name = module->l_name}, name);
  }
  close_library(program);
  dlerror();
  return found;
}

}  // namespace

WorkOf::WorkOf(std::uint32_t library) : around_(given_library) {
  given_library = library;
  if (library != kUnknown) last_library = library;
}

WorkOf::~WorkOf() {
  given_library = around_;
}

std::uint32_t library_in_use() {
  return last_library;
}

void* LibraryFunction::find(const void* place) {
  if (!prepared.load(std::memory_order_acquire)) {  // a constructor that runs before ours
    find_library_functions();
    if (void* known = next.load(std::memory_order_relaxed); known != nullptr) return known;
  }
  std::uint32_t library = library_of(place, name);
  if (library == kNone && last_library != kUnknown) library = last_library;
  if (library == kNone) library = any_library.load(std::memory_order_relaxed);
  if (library == kUnknown) library = library_of_any(name);
  if (library == kNone) return nullptr;
  last_library = library;
  any_library.store(library, std::memory_order_relaxed);
  return own[library - 1].load(std::memory_order_acquire);
}

void* LibraryFunction::of_begin(const void* place) {
  void* known = next.load(std::memory_order_relaxed);
  if (known != nullptr) return known;
  void* found = find(place);
  if (sections.depth < kSections)
    sections.library[sections.depth] = found == nullptr ? kUnknown : last_library;
  ++sections.depth;
  return found;
}

void* LibraryFunction::of_end() {
  void* known = next.load(std::memory_order_relaxed);
  if (known != nullptr) return known;
  if (sections.depth == 0) return find(&callers);  // it began before the runtime did
  if (--sections.depth >= kSections) return find(&callers);
  const std::uint32_t library = sections.library[sections.depth];
  return library == kUnknown ? nullptr : own[library - 1].load(std::memory_order_acquire);
}

void find_library_functions() {
  for (LibraryFunction* each = __start_culprit_of_library; each != __stop_culprit_of_library; ++each)
    each->next.store(dlsym(RTLD_NEXT, each->name), std::memory_order_relaxed);
  prepare_find_loaded();
  Dl_info ours{};
  if (dladdr(&callers, &ours) != 0)
    our_bias.store(reinterpret_cast<std::uint64_t>(ours.dli_fbase), std::memory_order_relaxed);
  prepared.store(true, std::memory_order_release);
  dlerror();
}

}  // namespace culprit::runtime
