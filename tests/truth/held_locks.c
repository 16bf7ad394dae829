/* Truth: ranks that wait for what a thread of another rank does while it holds what that rank's main thread
 * waits for: a mutex (hold_long), its own end (after_hold), a critical section of OpenMP (in_critical), and a
 * mutex that a thread waits for whose end the main thread waits for (deep_hold, then after_wait). Beside them
 * other threads work, for whom nobody waits: innocent all the time, innocent_member in the region. Rank 1
 * waits in MPI_Barrier. Usage: held_locks LOGDIR [repetitions]; logs LOGDIR/held-RANK.log, a line for each
 * repetition: when the four barriers were entered (CLOCK_MONOTONIC, ns), and how long the five parts took. */
#define _GNU_SOURCE
#include "truth_log.h"

#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 3, kMost = 1000, kBarriers = 4, kParts = 5 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int held, stop;
static long long took[kParts];

#define PART(number, name, milliseconds)             \
  static __attribute__((noinline)) void name(void) { \
    const long long begin = truth_now();             \
    truth_sleep(milliseconds);                       \
    took[number] = truth_now() - begin;              \
  }
PART(0, hold_long, 30)
PART(1, after_hold, 15)
PART(2, in_critical, 30)
PART(3, deep_hold, 30)
PART(4, after_wait, 10)

/* Something follows each sleep, so that no call is a jump that leaves its function out. */
static volatile int done;

static __attribute__((noinline)) void innocent(void) {
  truth_sleep(20);
  done = 1;
}

static __attribute__((noinline)) void innocent_member(void) {
  truth_sleep(25);
  done = 1;
}

static void* stand_by(void* none) {
  while (!stop) innocent();
  return none;
}

static void await_holder(void) {
  while (!held) truth_sleep(0.1);
  held = 0;
}

static void* hold_mutex(void* none) {
  pthread_mutex_lock(&mutex);
  held = 1;
  hold_long();
  pthread_mutex_unlock(&mutex);
  after_hold();
  return none;
}

static void* hold_deep(void* none) {
  pthread_mutex_lock(&mutex);
  held = 1;
  deep_hold();
  pthread_mutex_unlock(&mutex);
  return none;
}

static void* wait_for_mutex(void* none) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  after_wait();
  return none;
}

static pthread_t begin(void* (*routine)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, routine, NULL) != 0) exit(1);
  return thread;
}

static __attribute__((noinline)) void enter_critical(void) {
#pragma omp parallel num_threads(kThreads)
  switch (omp_get_thread_num()) {
    case 0:
      await_holder();
#pragma omp critical(section)
      held = 0;
      break;
    case 1:
#pragma omp critical(section)
    {
      held = 1;
      in_critical();
    } break;
    default:
      innocent_member();
  }
}

static void meet(long long* entered) {
  *entered = truth_now();
  MPI_Barrier(MPI_COMM_WORLD);
}

static void late_rank(long long* entered) {
  const pthread_t holder = begin(hold_mutex);
  await_holder();
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  meet(&entered[0]);
  pthread_join(holder, NULL);
  meet(&entered[1]);
  enter_critical();
  meet(&entered[2]);
  const pthread_t deep = begin(hold_deep);
  await_holder();
  pthread_join(begin(wait_for_mutex), NULL);
  meet(&entered[3]);
  pthread_join(deep, NULL);
}

int main(int argc, char** argv) {
  static long long noted[kMost][kBarriers + kParts];
  const int asked = argc > 2 ? atoi(argv[2]) : 40;
  const int repetitions = asked < kMost ? asked : kMost;
  int rank = 0, provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const pthread_t bystander = begin(stand_by);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < repetitions; ++i) {
    if (rank == 0) late_rank(noted[i]);
    for (int b = 0; rank != 0 && b < kBarriers; ++b) meet(&noted[i][b]);
    for (int p = 0; p < kParts; ++p) noted[i][kBarriers + p] = took[p];
  }
  MPI_Barrier(MPI_COMM_WORLD);
  stop = 1;
  pthread_join(bystander, NULL);
  char path[4096];
  snprintf(path, sizeof path, "%s/held-%d.log", argc > 1 ? argv[1] : ".", rank);
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  for (int i = 0; i < repetitions; ++i) {
    for (int k = 0; k < kBarriers + kParts; ++k) fprintf(file, "%lld ", noted[i][k]);
    fputc('\n', file);
  }
  if (fclose(file) != 0) return 1;
  return MPI_Finalize();
}
