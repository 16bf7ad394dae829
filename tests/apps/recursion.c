/* recursion DEPTH MILLISECONDS [vary|thread]: a recursion of DEPTH frames, at the bottom of which rank 0
   works and the others wait for it. vary: again and again, each time less deep by another number; thread: on
   a thread's stack of 256 MiB. With hpcrun-lite --delay, sampling begins at the bottom. */
#include <culprit.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;
static double seconds;

__attribute__((noinline)) double work(double until) {
  volatile double sum = 0;
  while (MPI_Wtime() < until) {
    for (int i = 0; i < 1000; ++i) sum = sum + i;
  }
  return sum;
}

__attribute__((noinline)) double at_bottom(void) {
  culprit_start();
  const double sum = rank == 0 ? work(MPI_Wtime() + seconds) : 0;
  MPI_Barrier(MPI_COMM_WORLD);
  return sum;
}

__attribute__((noinline)) double descend(long depth) {
  volatile double here = (double)depth;
  if (depth == 0) return at_bottom();
  return descend(depth - 1) + here;
}

__attribute__((noinline)) double begin(long depth) {
  return descend(depth) + 1;
}

static void* begin_in_thread(void* depth) {
  begin(*(long*)depth);
  return NULL;
}

int main(int count, char** arguments) {
  long depth = atol(arguments[1]);
  const char* how = count > 3 ? arguments[3] : "";
  seconds = atof(arguments[2]) / 1000;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(how, "vary") == 0) {
    for (int i = 0; i < 60; ++i) begin(depth - 997L * (i * 37 % 60));
  } else if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)256 << 20);
    pthread_create(&thread, &attributes, begin_in_thread, &depth);
    pthread_join(thread, NULL);
  } else {
    begin(depth);
  }
  if (rank == 0) puts("done");
  MPI_Finalize();
  return 0;
}
