#include "runtime/system/real.hpp"

#include <cstring>

#include <dlfcn.h>
#include <pthread.h>

// The bounds of the section, from the linker.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,misc-use-internal-linkage)
extern __attribute__((visibility("hidden"))) culprit::runtime::NextFunction __start_culprit_real[];
extern __attribute__((visibility("hidden"))) culprit::runtime::NextFunction __stop_culprit_real[];
// NOLINTEND(bugprone-reserved-identifier,misc-use-internal-linkage)
}

// What the C library itself calls a function that the loader needs, or that an allocator calls which the
// loader needs, before dlsym can answer.
// NOLINTNEXTLINE(bugprone-reserved-identifier): its name in the C library
extern "C" __attribute__((weak)) int __pthread_mutex_lock(pthread_mutex_t*);
// NOLINTNEXTLINE(bugprone-reserved-identifier): likewise
extern "C" __attribute__((weak)) int __pthread_mutex_unlock(pthread_mutex_t*);

namespace culprit::runtime {
namespace {

__thread bool looking = false;  ///< the thread is inside of dlsym

/// A look-up within a look-up: older C libraries allocate memory in dlsym, and the program's allocator may
/// take a lock for that.
void* found_by_itself(const char* name) {
  if (strcmp(name, "pthread_mutex_lock") == 0) return reinterpret_cast<void*>(&__pthread_mutex_lock);
  if (strcmp(name, "pthread_mutex_unlock") == 0) return reinterpret_cast<void*>(&__pthread_mutex_unlock);
  return nullptr;
}

}  // namespace

void* NextFunction::find() {
  if (looking) {
    if (void* found = found_by_itself(name); found != nullptr) return found;
  }
  looking = true;
  void* found = dlsym(RTLD_NEXT, name);
  looking = false;
  if (found == nullptr) dlerror();  // the message is none of the program's
  address.store(found, std::memory_order_relaxed);
  return found;
}

void find_all_next() {
  for (NextFunction* next = __start_culprit_real; next != __stop_culprit_real; ++next) next->find();
}

}  // namespace culprit::runtime
