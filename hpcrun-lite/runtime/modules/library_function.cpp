#include "runtime/modules/library_function.hpp"

#include "runtime/modules/modules.hpp"

#include <dlfcn.h>

// The bounds of the section, from the linker.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,misc-use-internal-linkage)
extern __attribute__((visibility("hidden"))) culprit::runtime::LibraryFunction __start_culprit_of_library[];
extern __attribute__((visibility("hidden"))) culprit::runtime::LibraryFunction __stop_culprit_of_library[];
// NOLINTEND(bugprone-reserved-identifier,misc-use-internal-linkage)
}

namespace culprit::runtime {
namespace {

/// The libraries that bring their own, by the difference of their addresses; never forgotten.
constinit std::atomic<std::uint64_t> callers[LibraryFunction::kCallers] = {};

void* search(const LoadedModule& module, const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;  // it came later, for all to see
  // The whole program's scope begins with our own functions.
  if (module.name == nullptr || module.name[0] == '\0') return nullptr;
  void* library = dlopen(module.name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* found = dlsym(library, name);
  dlclose(library);
  return found;
}

/// All functions at once: at their first calls others may wait for the loader's lock, and be waited for.
void search_all(std::size_t caller, const LoadedModule& module) {
  for (LibraryFunction* each = __start_culprit_of_library; each != __stop_culprit_of_library; ++each) {
    if (void* found = search(module, each->name)) each->own[caller].store(found, std::memory_order_release);
  }
  dlerror();  // the messages are none of the program's
}

}  // namespace

void* LibraryFunction::find(const void* caller) {
  LoadedModule module;
  if (!find_loaded(reinterpret_cast<std::uint64_t>(caller), module)) return nullptr;
  const std::uint64_t bias = module.bias + 1;  // of a program at fixed addresses it is 0
  for (std::size_t i = 0; i < kCallers; ++i) {
    std::uint64_t there = callers[i].load(std::memory_order_acquire);
    if (there == 0) {
      search_all(i, module);
      if (callers[i].compare_exchange_strong(there, bias, std::memory_order_acq_rel)) there = bias;
    }
    if (there != bias) continue;
    if (void* found = own[i].load(std::memory_order_acquire)) return found;
    break;
  }
  void* found = search(module, name);
  dlerror();
  return found;
}

void find_library_functions() {
  for (LibraryFunction* each = __start_culprit_of_library; each != __stop_culprit_of_library; ++each)
    each->next.store(dlsym(RTLD_NEXT, each->name), std::memory_order_relaxed);
  dlerror();
}

}  // namespace culprit::runtime
