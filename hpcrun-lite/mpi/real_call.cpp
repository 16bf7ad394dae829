#include "mpi/real_call.hpp"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <mpi.h>

// The bounds of the section, from the linker.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,misc-use-internal-linkage)
extern __attribute__((visibility("hidden"))) culprit::mpi::LibraryFunction __start_culprit_real_call[];
extern __attribute__((visibility("hidden"))) culprit::mpi::LibraryFunction __stop_culprit_real_call[];
// NOLINTEND(bugprone-reserved-identifier,misc-use-internal-linkage)
}

namespace culprit::mpi {
namespace {

/// Names under which the MPI library may already be loaded.
#ifdef OPEN_MPI
constexpr const char* kMpiLibraries[] = {"libmpi.so.40"};
#else
constexpr const char* kMpiLibraries[] = {"libmpich.so.12", "libmpi.so.12"};
#endif

/// Null where there is none (yet).
void* search(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  for (const char* library : kMpiLibraries) {
    if (symbol != nullptr) return symbol;
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    symbol = dlsym(handle, name);
    dlclose(handle);
  }
  return symbol;
}

/// A program that is linked with MPI has it now; any other starts without a search for what is not there.
__attribute__((constructor)) void find_linked_calls() {
  if (dlsym(RTLD_NEXT, "MPI_Init") != nullptr) find_all_calls();
  dlerror();  // the message is none of the program's
}

}  // namespace

void* find_object(const char* name) {
  void* object = dlsym(RTLD_DEFAULT, name);
  return object != nullptr ? object : find_symbol(name);
}

void* find_symbol(const char* name) {
  void* symbol = search(name);
  if (symbol == nullptr) {
    fprintf(
        stderr,
        "hpcrun-lite: %s: not found in this program's MPI library (it is not the MPI that was expected)\n",
        name);
    abort();
  }
  return symbol;
}

void* LibraryFunction::find() {
  void* found = find_symbol(name);
  address.store(found, std::memory_order_relaxed);
  return found;
}

void find_all_calls() {
  for (LibraryFunction* call = __start_culprit_real_call; call != __stop_culprit_real_call; ++call) {
    if (call->address.load(std::memory_order_relaxed) == nullptr)
      call->address.store(search(call->name), std::memory_order_relaxed);
  }
  dlerror();  // an older library may lack some
}

}  // namespace culprit::mpi
