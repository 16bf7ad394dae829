/* Loads plug-ins that bring OpenMP along, for themselves alone, and unloads them, though the program may look
 * for OpenMP in vain. Usage: teams_host [-g LIBRARY] [-l] [-d] [PLUGIN]...
 * -g: before, the library is loaded for all to see; -l: calls are bound when they are made first; -d: a
 * plug-in's own libraries come before those that all see. A signal ends it where it hangs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern void GOMP_critical_start(void) __attribute__((weak));
extern void GOMP_critical_end(void) __attribute__((weak));
extern void GOMP_barrier(void) __attribute__((weak));

/* What a library with weak references does, and one that asks the loader. */
static void look_for_openmp(void) {
  static const char* const names[] = {"GOMP_parallel",       "GOMP_barrier", "GOMP_task",
                                      "GOMP_critical_start", "omp_set_lock", "omp_get_num_threads",
                                      "__kmpc_critical"};
  if (GOMP_critical_start || GOMP_critical_end || GOMP_barrier) puts("there seems to be OpenMP");
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    printf("%s: %s\n", names[i], dlsym(RTLD_DEFAULT, names[i]) == NULL ? "none" : "found");
}

static int use(char** plugins, int how) {
  for (int round = 0; round < 20; ++round) {
    for (char** name = plugins; *name != NULL; ++name) {
      void* plugin = dlopen(*name, how);
      if (plugin == NULL) return 3;
      long (*sum)(int) = (long (*)(int))dlsym(plugin, "plugin_sum");
      if (sum == NULL) return 4;
      void (*region)(void) = (void (*)(void))dlsym(plugin, "plugin_region");
      if (region == NULL) return 5;
      region();
      usleep(5000); /* its threads idle, and there are samples */
      const long found = sum(2 + round % 3);
      if (round == 19) printf("%ld\n", found);
      if (round % 2 == 1 && dlclose(plugin) != 0) return 6;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  int how = RTLD_LOCAL, when = RTLD_NOW, option;
  alarm(100);
  while ((option = getopt(argc, argv, "g:ld")) != -1) {
    if (option == 'g' && dlopen(optarg, RTLD_NOW | RTLD_GLOBAL) == NULL) return 2;
    if (option == 'l') when = RTLD_LAZY;
    if (option == 'd') how |= RTLD_DEEPBIND;
  }
  if (optind == argc) look_for_openmp();
  return use(argv + optind, how | when);
}
