/* An MPI program whose last rank dies in the middle of its work. Usage: dies
 * KILL|SEGV|FAULT|ABRT|MPI|EXIT|LEAVE */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(double length) {
  const double end = seconds() + length;
  while (seconds() < end) {
  }
}

__attribute__((noinline)) static void smooth(volatile double* field) {
  work(0.01);
  field[3] = 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  work(1.0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == ranks - 1) {
    const char* how = argc > 1 ? argv[1] : "KILL";
    work(0.5);
    if (strcmp(how, "KILL") == 0) raise(SIGKILL);
    if (strcmp(how, "SEGV") == 0) raise(SIGSEGV);
    if (strcmp(how, "FAULT") == 0) smooth(0);
    if (strcmp(how, "ABRT") == 0) abort();
    if (strcmp(how, "MPI") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
    if (strcmp(how, "EXIT") == 0) _exit(5);
    if (strcmp(how, "LEAVE") == 0) exit(3);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
