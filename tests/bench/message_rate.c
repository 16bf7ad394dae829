/* Some 50 000 MPI calls a second in each rank, with work between them that takes as many instructions in
 * every run and lives in the first-level cache, as inner loops do. Messages go to the rank itself: ranks that
 * wait for each other would show the machine's other load. Each rank tells what its loop took: MPI_Init and
 * MPI_Finalize differ by more from run to run than what is sought. Usage: message_rate [rounds]. Prints
 * "calls wall-seconds cpu-seconds" per rank; all threads' CPU time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { kPoints = 1024, kSweeps = 20, kCalls = 3 }; /* some 57 us of work for three calls */

static double field[kPoints + 2];

static void work(void) {
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (int i = 1; i <= kPoints; ++i) field[i] = 0.25 * (field[i - 1] + 2 * field[i] + field[i + 1]);
  }
}

static double wall(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  MPI_Request requests[2];
  int sent = 0, received;
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 50000;
  field[0] = 1;
  for (int i = 0; i < 100; ++i) work();
  MPI_Barrier(MPI_COMM_WORLD);
  const double wall_begin = wall(), cpu_begin = cpu();
  for (int round = 0; round < rounds; ++round) {
    work();
    MPI_Irecv(&received, 1, MPI_INT, 0, round % 7, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, 0, round % 7, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  const double wall_end = wall(), cpu_end = cpu();
  printf("%d %.6f %.6f\n", kCalls * rounds, wall_end - wall_begin, cpu_end - cpu_begin);
  fflush(stdout);
  MPI_Finalize();
  return field[kPoints] < 0;
}
