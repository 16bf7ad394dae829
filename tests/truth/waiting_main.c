/* Truth: how long main threads of ranks wait for other threads of their process, and work, in each iteration:
 * at the end of a parallel region of which a worker is late, for a lock, for a condition, for a thread's end.
 * On rank 1 the worker is later, so rank 0 waits for rank 1 in MPI_Barrier. All work is sleep. Usage:
 * waiting_main LOGDIR [iterations]; logs LOGDIR/waiting-RANK.log: when MPI_Init was left, MPI_Finalize
 * entered and left; then for each iteration when it began, and how long it was in MPI, and waited for threads
 * (CLOCK_MONOTONIC, ns). */
#define _GNU_SOURCE
#include "culprit.h"
#include "truth_log.h"

#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 3, kMost = 1000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile int held, done;
static long long waited;

/* Adds up how long WAIT takes. */
#define WAIT(...)                       \
  do {                                  \
    const long long wait = truth_now(); \
    __VA_ARGS__;                        \
    waited += truth_now() - wait;       \
  } while (0)

static __attribute__((noinline)) void team(int rank) {
  long long arrived = 0;
#pragma omp parallel num_threads(kThreads)
  {
    truth_sleep(omp_get_thread_num() != kThreads - 1 ? 10 : rank == 1 ? 20 : 14);
    if (omp_get_thread_num() == 0) arrived = truth_now();
  }
  waited += truth_now() - arrived;
}

static void* hold_and_signal(void* none) {
  pthread_mutex_lock(&mutex);
  held = 1;
  truth_sleep(8);
  pthread_mutex_unlock(&mutex);
  truth_sleep(5);
  pthread_mutex_lock(&mutex);
  done = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  truth_sleep(4);
  return none;
}

static __attribute__((noinline)) void other_thread(void) {
  pthread_t thread;
  held = done = 0;
  if (pthread_create(&thread, NULL, hold_and_signal, NULL) != 0) exit(1);
  while (!held) truth_sleep(0.1);
  WAIT(pthread_mutex_lock(&mutex));
  WAIT(while (!done) pthread_cond_wait(&condition, &mutex));
  pthread_mutex_unlock(&mutex);
  WAIT(pthread_join(thread, NULL));
}

static int write_log(const char* directory, int rank, const long long* run, long long (*noted)[3],
                     int count) {
  char path[4096];
  snprintf(path, sizeof path, "%s/waiting-%d.log", directory, rank);
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  fprintf(file, "%lld %lld %lld\n", run[0], run[1], run[2]);
  for (int i = 0; i < count; ++i) fprintf(file, "%lld %lld %lld\n", noted[i][0], noted[i][1], noted[i][2]);
  return fclose(file);
}

int main(int argc, char** argv) {
  static long long noted[kMost][3];
  const int asked = argc > 2 ? atoi(argv[2]) : 30;
  const int iterations = asked < kMost ? asked : kMost;
  int rank = 0, provided = 0;
  long long run[3];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  run[0] = truth_now();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < iterations; ++i) {
    waited = 0;
    culprit_iteration(i);
    noted[i][0] = truth_now();
    team(rank);
    other_thread();
    const long long enter = truth_now();
    MPI_Barrier(MPI_COMM_WORLD);
    noted[i][1] = truth_now() - enter;
    noted[i][2] = waited;
  }
  run[1] = truth_now();
  MPI_Finalize();
  run[2] = truth_now();
  return write_log(argc > 1 ? argv[1] : ".", rank, run, noted, iterations);
}
