/* Truth: ranks that wait for a thread of another rank. Of rank 1 a worker of the team works longer in each
 * region (late_worker); rank 0 waits for a POSIX thread that it started (late_first, late_thread). Everybody
 * else waits in MPI_Barrier, for the main threads, which wait for those. Usage: late_worker LOGDIR
 * [repetitions]; logs LOGDIR/late-RANK.log, a line for each repetition: when the two barriers were entered
 * (CLOCK_MONOTONIC, ns), and how long the late ones took. */
#define _GNU_SOURCE
#include "truth_log.h"

#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 3, kMost = 1000 };

static long long first_ns, late_ns;

static __attribute__((noinline)) void shared_part(void) {
  truth_sleep(5);
}

static __attribute__((noinline)) void late_worker(void) {
  const long long begin = truth_now();
  truth_sleep(30);
  late_ns = truth_now() - begin;
}

static __attribute__((noinline)) void late_first(void) {
  const long long begin = truth_now();
  truth_sleep(15);
  first_ns = truth_now() - begin;
}

static __attribute__((noinline)) void late_thread(void) {
  const long long begin = truth_now();
  truth_sleep(25);
  late_ns = truth_now() - begin;
}

static void* begin_thread(void* none) {
  late_first();
  late_thread();
  return none;
}

static __attribute__((noinline)) void team(int rank) {
#pragma omp parallel num_threads(kThreads)
  {
    shared_part();
    if (rank == 1 && omp_get_thread_num() == kThreads - 1) late_worker();
  }
}

static __attribute__((noinline)) void other_thread(int rank) {
  pthread_t thread;
  if (rank == 0 && pthread_create(&thread, NULL, begin_thread, NULL) == 0) pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  static long long noted[kMost][4];
  const int asked = argc > 2 ? atoi(argv[2]) : 40;
  const int repetitions = asked < kMost ? asked : kMost;
  int rank = 0, provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < repetitions; ++i) {
    team(rank);
    noted[i][0] = truth_now();
    MPI_Barrier(MPI_COMM_WORLD);
    other_thread(rank);
    noted[i][1] = truth_now();
    noted[i][2] = late_ns;
    noted[i][3] = first_ns;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/late-%d.log", argc > 1 ? argv[1] : ".", rank);
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  for (int i = 0; i < repetitions; ++i)
    fprintf(file, "%lld %lld %lld %lld\n", noted[i][0], noted[i][1], noted[i][2], noted[i][3]);
  if (fclose(file) != 0) return 1;
  return MPI_Finalize();
}
