/* A plug-in whose constructor runs a region, in which a library is called for the first time that has another
 * copy of OpenMP: the loader holds its lock meanwhile (test_teams.py). TEAMS_INNER names that library. */
#include <dlfcn.h>
#include <stdlib.h>

static void (*inner)(void);
static long shared;

static __attribute__((constructor)) void begin(void) {
  void* library = dlopen(getenv("TEAMS_INNER"), RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) abort();
  inner = (void (*)(void))dlsym(library, "teams_inner");
#pragma omp parallel num_threads(4)
  {
    inner();
#pragma omp critical
    ++shared;
  }
}

void plugin_region(void) {
#pragma omp parallel num_threads(3)
  inner();
}

long plugin_sum(int threads) {
  return shared + threads;
}
