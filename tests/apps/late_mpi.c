/* A program that is not linked with MPI, as interpreters are. late_mpi PLUGIN: loads an extension that is
   linked with MPI, for itself alone (RTLD_LOCAL), and runs it. late_mpi -s LIBRARY: looks the functions of
   MPI up in its library. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int by_symbol(const char* library, int* argc, char*** argv) {
  void* mpi = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (mpi == NULL) return 1;
  int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(mpi, "MPI_Init");
  double (*wtime)(void) = (double (*)(void))dlsym(mpi, "MPI_Wtime");
  int (*finalize)(void) = (int (*)(void))dlsym(mpi, "MPI_Finalize");
  init(argc, argv);
  const double begin = wtime();
  while (wtime() < begin + 0.3) {
  }
  return finalize();
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "-s") == 0) return by_symbol(argv[2], &argc, &argv);
  void* plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (plugin == NULL) {
    fprintf(stderr, "late_mpi: %s\n", dlerror());
    return 1;
  }
  int (*exchange)(int*, char***) = (int (*)(int*, char***))dlsym(plugin, "exchange");
  return exchange(&argc, &argv);
}
