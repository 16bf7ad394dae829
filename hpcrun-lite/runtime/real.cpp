#include "runtime/real.hpp"

#include <dlfcn.h>

// The bounds of the section, from the linker.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,misc-use-internal-linkage)
extern __attribute__((visibility("hidden"))) culprit::runtime::NextFunction __start_culprit_real[];
extern __attribute__((visibility("hidden"))) culprit::runtime::NextFunction __stop_culprit_real[];
// NOLINTEND(bugprone-reserved-identifier,misc-use-internal-linkage)
}

namespace culprit::runtime {

void* NextFunction::find() {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) dlerror();  // the message is none of the program's
  address.store(found, std::memory_order_relaxed);
  return found;
}

void find_all_next() {
  for (NextFunction* next = __start_culprit_real; next != __stop_culprit_real; ++next) next->find();
}

}  // namespace culprit::runtime
