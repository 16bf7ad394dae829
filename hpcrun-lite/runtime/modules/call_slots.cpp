// Where modules call a function of another, they jump to what a word of theirs holds: the function's address,
// which the loader wrote there, or, until the first call, a few instructions that ask the loader to write it
// and go on to the function (lazy binding). Either is what an entry of ours goes on to, so that whatever the
// loader means is called: by search order, versions, RTLD_DEEPBIND, a tool's preloaded definition. Here
// nothing is found out about that, with one exception: what a module of the start will be bound to is asked
// for, where the answer with and without the version is the same, so that the first calls of several threads
// are seen.
#include "runtime/modules/call_slots.hpp"

#include "runtime/modules/dynamic_section.hpp"

#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <sys/mman.h>

// The bounds of the section, from the linker.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,misc-use-internal-linkage)
extern __attribute__((visibility("hidden"))) culprit::runtime::Redirected __start_culprit_redirected[];
extern __attribute__((visibility("hidden"))) culprit::runtime::Redirected __stop_culprit_redirected[];
// NOLINTEND(bugprone-reserved-identifier,misc-use-internal-linkage)
}

namespace culprit::runtime {
namespace {

constexpr std::uintptr_t kPage = 4096;

/// How many modules the process was started with: they come first in the loader's list, and stay.
constinit std::atomic<std::size_t> modules_of_start{0};
constinit std::atomic<bool> forked{false};

void* entry_of(const Redirected& function, const Route& route) {
  void* entry = nullptr;
  const auto place = static_cast<std::size_t>(&route - function.routes);
  memcpy(&entry, static_cast<const Redirected::Entry*>(function.entries) + place, sizeof entry);
  return entry;
}

bool is_entry(const Redirected& function, const void* address) {
  for (std::size_t i = 0; i < Redirected::kRoutes; ++i) {
    if (entry_of(function, function.routes[i]) == address) return true;
  }
  return false;
}

/// The route of all slots that are bound to `target`; null: there are too many copies.
Route* bound_route(const Redirected& function, void* target) {
  for (std::size_t i = 0; i < Redirected::kBound; ++i) {
    Route& route = function.routes[i];
    void* there = nullptr;
    if (route.target.compare_exchange_strong(there, target, std::memory_order_acq_rel) || there == target)
      return &route;
  }
  return nullptr;
}

/// The route of a slot that is not bound. Never given to another one: a thread may be on its way.
Route* unbound_route(const Redirected& function, void** slot, void* target) {
  for (std::size_t i = Redirected::kBound; i < Redirected::kRoutes; ++i) {
    Route& route = function.routes[i];
    void* there = nullptr;
    if (route.target.compare_exchange_strong(there, target, std::memory_order_acq_rel)) {
      route.slot.store(slot, std::memory_order_release);
      return &route;
    }
    if (there == target && route.slot.load(std::memory_order_acquire) == slot) return &route;
  }
  return nullptr;
}

const Redirected* find(const char* name) {
  if (strncmp(name, "GOMP_", 5) != 0 && strncmp(name, "omp_", 4) != 0 && strncmp(name, "__kmpc_", 7) != 0)
    return nullptr;
  for (const Redirected* each = __start_culprit_redirected; each != __stop_culprit_redirected; ++each) {
    if (strcmp(each->name, name) == 0) return each;
  }
  return nullptr;
}

/// What the loader will bind the slot of a module of the start to; null: not sure.
void* future_target(const DynamicSection& module, const ImportSlot& slot) {
  const char* version = module.version_of(slot);
  if (version == nullptr) return nullptr;
  void* target = dlvsym(RTLD_DEFAULT, slot.name, version);
  if (target != dlsym(RTLD_DEFAULT, slot.name)) target = nullptr;
  dlerror();  // the messages are none of the program's
  return target;
}

/// Changes a slot unless the loader does so meanwhile. A page that the loader closed is open for that moment;
/// nobody else changes its protection any more, since the module is relocated.
void change_slot(const DynamicSection& module, void** word, void* from, void* to) {
  auto* page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(word) & ~(kPage - 1));
  const bool closed = module.is_protected(word);
  if (closed && mprotect(page, kPage, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  if (closed) mprotect(page, kPage, PROT_READ);
}

void redirect_slot(const DynamicSection& module, const ImportSlot& slot, bool of_start) {
  const Redirected* function = find(slot.name);
  if (function == nullptr || !module.is_writable(slot.word) ||
      reinterpret_cast<std::uintptr_t>(slot.word) % sizeof(void*) != 0)
    return;
  void* held = __atomic_load_n(slot.word, __ATOMIC_ACQUIRE);
  if (held == nullptr || is_entry(*function, held)) return;
  Route* route = nullptr;
  if (!module.holds(held) || module.defines(slot, held)) {
    route = bound_route(*function, held);
  } else if (!module.is_protected(slot.word)) {
    void* target = of_start && !module.is_symbolic() ? future_target(module, slot) : nullptr;
    route = target != nullptr ? bound_route(*function, target) : unbound_route(*function, slot.word, held);
  }
  if (route != nullptr) change_slot(module, slot.word, held, entry_of(*function, *route));
}

void redirect(const dl_phdr_info& info, bool of_start) {
  const DynamicSection module(info);
  module.each_slot([&](const ImportSlot& slot) { redirect_slot(module, slot, of_start); });
}

/// A place in the loader's list, and what was there. Modules of the start stay where they are; another one
/// stays as long as its code runs.
struct Wanted {
  const void* place;  ///< the module that holds it; null: that of the index
  std::size_t index, at = 0;
  dl_phdr_info info = {};
};

bool lies_in(const void* place, const dl_phdr_info& info) {
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    const auto address = reinterpret_cast<std::uint64_t>(place);
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz) return true;
  }
  return false;
}

int look(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  Wanted& wanted = *static_cast<Wanted*>(data);
  const bool found = wanted.place == nullptr ? wanted.at == wanted.index : lies_in(wanted.place, *info);
  if (found) wanted.info = *info;
  if (!found) ++wanted.at;
  return found ? 1 : 0;
}

LoaderCounts counts_of(const dl_phdr_info& info) {
  return {.added = info.dlpi_adds, .removed = info.dlpi_subs};
}

int note_counts(dl_phdr_info* info, std::size_t /*size*/, void* counts) {
  *static_cast<LoaderCounts*>(counts) = counts_of(*info);
  return 1;
}

/// Whose call has bound a slot.
struct BoundSlot {
  const Redirected& function;
  Route& route;
  LoaderCounts before;
};

/// While the loader can neither remove a module nor add one in its place.
int redirect_if_there(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  const auto& [function, route, before] = *static_cast<const BoundSlot*>(data);
  if (counts_of(*info) != before) return 1;
  void** word = route.slot.load(std::memory_order_relaxed);
  void* held = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  if (held == route.target.load(std::memory_order_relaxed) || is_entry(function, held)) return 1;
  // It is written by the loader at any time: its page is open.
  if (const Route* bound = bound_route(function, held))
    __atomic_compare_exchange_n(word, &held, entry_of(function, *bound), false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
  return 1;
}

int count(dl_phdr_info* /*info*/, std::size_t /*size*/, void* number) {
  ++*static_cast<std::size_t*>(number);
  return 0;
}

}  // namespace

void note_modules_of_start() {
  if (modules_of_start.load(std::memory_order_relaxed) != 0) return;
  std::size_t number = 0;
  dl_iterate_phdr(count, &number);
  modules_of_start.store(number, std::memory_order_relaxed);
}

void redirect_calls_of_start() {
  note_modules_of_start();
  for (std::size_t i = 0; i < modules_of_start.load(std::memory_order_relaxed); ++i) {
    Wanted wanted{.place = nullptr, .index = i};
    if (dl_iterate_phdr(look, &wanted) != 0) redirect(wanted.info, true);
  }
}

void redirect_calls_of(const void* place) {
  Wanted wanted{.place = place, .index = 0};
  if (dl_iterate_phdr(look, &wanted) != 0) redirect(wanted.info, false);
}

LoaderCounts LoaderCounts::now() {
  LoaderCounts counts{};
  if (!forked.load(std::memory_order_relaxed)) dl_iterate_phdr(note_counts, &counts);
  return counts;
}

void redirect_bound_slot(const Redirected& function, Route& route, const LoaderCounts& before) {
  BoundSlot slot{.function = function, .route = route, .before = before};
  if (!forked.load(std::memory_order_relaxed)) dl_iterate_phdr(redirect_if_there, &slot);
}

void redirect_bound_slots_no_more() {
  forked.store(true, std::memory_order_relaxed);
}

}  // namespace culprit::runtime
