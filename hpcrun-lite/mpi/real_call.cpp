#include "mpi/real_call.hpp"

#include "mpi/prototypes.hpp"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace culprit::mpi {

void* find_object(const char* name) {
  void* object = dlsym(RTLD_DEFAULT, name);
  return object != nullptr ? object : find_symbol(name);
}

void* find_symbol(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  for (const char* library : kMpiLibraries) {
    if (symbol != nullptr) return symbol;
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    symbol = dlsym(handle, name);
    dlclose(handle);
  }
  if (symbol == nullptr) {
    fprintf(
        stderr,
        "hpcrun-lite: %s: not found in this program's MPI library (it is not the MPI that was expected)\n",
        name);
    abort();
  }
  return symbol;
}

}  // namespace culprit::mpi
