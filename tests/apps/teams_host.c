/* Loads plug-ins that bring OpenMP along, for themselves alone, and unloads them, though the program may look
 * for OpenMP in vain. Usage: teams_host [-g LIBRARY] PLUGIN...
 * -g: before, the library is loaded for all to see. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern void GOMP_critical_start(void) __attribute__((weak));
extern void GOMP_critical_end(void) __attribute__((weak));
extern void GOMP_barrier(void) __attribute__((weak));

int main(int argc, char** argv) {
  if (argc == 1) { /* what a library with weak references does */
    if (GOMP_critical_start && GOMP_critical_end && GOMP_barrier) {
      GOMP_critical_start();
      GOMP_barrier();
      GOMP_critical_end();
    }
    puts("without OpenMP");
  }
  if (argc > 2 && strcmp(argv[1], "-g") == 0) {
    if (dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) == NULL) return 2;
    argc -= 2;
    argv += 2;
  }
  for (int round = 0; round < 20; ++round) {
    for (int i = 1; i < argc; ++i) {
      void* plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
      if (plugin == NULL) return 3;
      long (*sum)(int) = (long (*)(int))dlsym(plugin, "plugin_sum");
      if (sum == NULL) return 4;
      void (*region)(void) = (void (*)(void))dlsym(plugin, "plugin_region");
      if (region == NULL) return 5;
      region();
      const long found = sum(2 + round % 3);
      if (round == 19) printf("%ld\n", found);
      if (round % 2 == 1 && dlclose(plugin) != 0) return 6;
    }
  }
  return 0;
}
