/* An MPI program that loads a library whose constructor waits for a thread of its own, which calls MPI
   functions that nobody has called before, while the loader holds its lock. Compiled with -DPLUGIN it is that
   library. mpi_constructor LIBRARY */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef PLUGIN
#include <pthread.h>

static void* work(void* argument) {
  int flag;
  MPI_Win window;
  int *memory, value = 1, sum;
  MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  MPI_Scan(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  return argument;
}

__attribute__((constructor)) static void wait_for_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
}
#else
#include <dlfcn.h>

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE || argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  puts(dlopen(argv[1], RTLD_NOW) != NULL ? "loaded" : dlerror());
  MPI_Finalize();
  return 0;
}
#endif
