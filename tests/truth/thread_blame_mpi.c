/* Truth: a hybrid chain. One rank's main thread works alone, and both ranks' workers idle meanwhile: those of
 * its own process because of it, those of the other because their main thread waits in MPI. Usage:
 * thread_blame_mpi LOGDIR [repetitions]; logs LOGDIR/blame-RANK.log in the words of thread_blame.py. */
#define _GNU_SOURCE
#include "truth_log.h"

#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 3, kMost = 10000 };

struct line {
  const char* function;
  long long begin, end;
};
static struct line lines[kMost];
static int used;

static void note(const char* function, long long begin) {
#pragma omp critical(log)
  if (used < kMost) lines[used++] = (struct line){function, begin, truth_now()};
}

static __attribute__((noinline)) void shared_part(void) {
  const long long begin = truth_now();
  truth_sleep(5);
  note("shared_part", begin);
}

static __attribute__((noinline)) void late_part(void) {
  const long long begin = truth_now();
  truth_sleep(30);
  note("late_part", begin);
}

static __attribute__((noinline)) void short_part(void) {
  const long long begin = truth_now();
  truth_sleep(2);
  note("short_part", begin);
}

static __attribute__((noinline)) void meet(void) {
  const long long begin = truth_now();
  MPI_Barrier(MPI_COMM_WORLD);
  note("MPI_Barrier", begin);
}

int main(int argc, char** argv) {
  const int repetitions = argc > 2 ? atoi(argv[2]) : 20;
  int rank = 0, provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);  // before there are workers, which would idle in it
#pragma omp parallel num_threads(kThreads)
  shared_part();
  used = 0;
  const long long begin = truth_now();
  for (int i = 0; i < repetitions; ++i) {
#pragma omp parallel num_threads(kThreads)
    shared_part();
    if (rank == 1) {
      late_part();
    } else {
      short_part();
    }
    meet();
  }
  const long long end = truth_now();
  char path[4096];
  snprintf(path, sizeof path, "%s/blame-%d.log", argc > 1 ? argv[1] : ".", rank);
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  fprintf(file, "team all - %d %lld %lld\n", kThreads, begin, end);
  for (int i = 0; i < used; ++i)
    fprintf(file, "work all %s 1 %lld %lld\n", lines[i].function, lines[i].begin, lines[i].end);
  if (fclose(file) != 0) return 1;
  return MPI_Finalize();
}
