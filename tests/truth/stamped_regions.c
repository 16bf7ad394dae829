/* Truth: invocations of regions that call no MPI, in a model of weather (Weber 2016, V): dynamics and a halo,
 * then the microphysics in four sub-steps, each a parallel region of OpenMP (`parallel`) or one that the
 * program marks (`marked`), one of which is interrupted on one rank. All work is sleep. Usage:
 * stamped_regions LOGDIR parallel|marked [iterations]; logs LOGDIR/regions-RANK.log: begin and end of each
 * sub-step (CLOCK_MONOTONIC, ns). */
#include "culprit.h"
#include "truth_log.h"

#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSteps = 4, kMost = 1000, kInterruptedRank = 1, kInterruptedIteration = 7, kInterruptedStep = 2 };

/* A worker is done before the main thread, which therefore waits for nobody. */
static __attribute__((noinline)) void parallel_physics(double ms) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) truth_sleep(ms);
    __asm__ volatile("");  // no call at its end, which would take its place on the stack
  }
}

static __attribute__((noinline)) void marked_physics(double ms) {
  culprit_region_begin("microphysics");
  truth_sleep(ms);
  culprit_region_end("microphysics");
}

int main(int argc, char** argv) {
  static long long noted[kMost][kSteps][2];
  const int marked = argc > 2 && strcmp(argv[2], "marked") == 0;
  const int asked = argc > 3 ? atoi(argv[3]) : 30;
  const int iterations = asked < kMost ? asked : kMost;
  int rank = 0, provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < iterations; ++i) {
    double sent = 0, received = 0;
    truth_sleep(1);
    MPI_Sendrecv(&sent, 1, MPI_DOUBLE, 1 - rank, 0, &received, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int step = 0; step < kSteps; ++step) {
      const int interrupted =
          rank == kInterruptedRank && i == kInterruptedIteration && step == kInterruptedStep;
      noted[i][step][0] = truth_now();
      (marked ? marked_physics : parallel_physics)(interrupted ? 60 : 5);
      noted[i][step][1] = truth_now();
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  char path[4096];
  snprintf(path, sizeof path, "%s/regions-%d.log", argc > 1 ? argv[1] : ".", rank);
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  for (int i = 0; i < iterations; ++i) {
    for (int step = 0; step < kSteps; ++step)
      fprintf(file, "%lld %lld\n", noted[i][step][0], noted[i][step][1]);
  }
  return fclose(file);
}
