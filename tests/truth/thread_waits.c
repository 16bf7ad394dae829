/* Truth: threads of one process that wait for each other: OpenMP barriers and idle workers, mutexes,
 * condition variables, barriers and joins of POSIX threads. Usage: thread_waits LOGDIR [repetitions] [delay
 * in ms] [scenario] */
#include "truth_log.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 3 };
static int repetitions = 5;
static double delay = 20;
static int event; /* the last event's number */

#define SCENARIO static __attribute__((noinline)) void

/* One thread comes late to an explicit barrier. */
SCENARIO omp_barrier(void) {
  const int at = ++event;
#pragma omp parallel num_threads(kThreads)
  {
    if (omp_get_thread_num() == kThreads - 1) truth_sleep(delay);
    truth_enter("GOMP_barrier", "omp_barrier");
#pragma omp barrier
    truth_exit();
    truth_awaits(TRUTH_OMP_BARRIER, at);
    truth_enables(at);
  }
}

/* The main thread comes first to the end of the region: it waits for the last of the team. */
SCENARIO omp_region_end(void) {
  const int at = ++event;
  truth_enter("GOMP_parallel", "omp_region_end");
#pragma omp parallel num_threads(kThreads)
  {
    if (omp_get_thread_num() > 0) {
      truth_sleep(delay);
      truth_enter("region_end", "omp_region_end");
      truth_exit();
      truth_enables(at);
    }
  }
  truth_exit();
  truth_awaits(TRUTH_OMP_BARRIER, at);
}

/* The team is idle while the main thread works alone between two regions. */
SCENARIO omp_idle(void) {
  const int at = ++event;
#pragma omp parallel num_threads(kThreads)
  if (omp_get_thread_num() > 0) truth_enter("idle", "omp_idle");
  truth_sleep(delay);
  truth_enter("GOMP_parallel", "omp_idle");
#pragma omp parallel num_threads(kThreads)
  if (omp_get_thread_num() > 0) {
    truth_exit();
    truth_awaits(TRUTH_OMP_IDLE, at);
  }
  truth_exit();
  truth_enables(at);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier, start;
static int ready;

static void* locks(void* at) {
  CALL(pthread_barrier_wait, &start);
  CALL(pthread_mutex_lock, &mutex);
  truth_awaits(TRUTH_LOCK_HELD, *(int*)at);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

/* The main thread holds the mutex that another wants. */
SCENARIO lock_held(void) {
  pthread_t thread;
  int at = ++event;
  pthread_create(&thread, NULL, locks, &at);
  pthread_mutex_lock(&mutex);
  CALL(pthread_barrier_wait, &start);
  truth_sleep(delay);
  CALL(pthread_mutex_unlock, &mutex);
  truth_enables(at);
  pthread_join(thread, NULL);
}

static void* waits(void* at) {
  pthread_mutex_lock(&mutex);
  CALL(pthread_barrier_wait, &start);
  while (!ready) {
    CALL(pthread_cond_wait, &condition, &mutex);
    truth_awaits(TRUTH_CONDITION, *(int*)at);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

SCENARIO condition_wait(void) {
  pthread_t thread;
  int at = ++event;
  ready = 0;
  pthread_create(&thread, NULL, waits, &at);
  CALL(pthread_barrier_wait, &start);
  truth_sleep(delay);
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_mutex_unlock(&mutex);
  CALL(pthread_cond_signal, &condition);
  truth_enables(at);
  pthread_join(thread, NULL);
}

static void* meets(void* at) {
  CALL(pthread_barrier_wait, &barrier);
  truth_awaits(TRUTH_CONDITION, *(int*)at);
  truth_enables(*(int*)at);
  return NULL;
}

/* The main thread comes late to the barrier. */
SCENARIO barrier_wait(void) {
  pthread_t thread[kThreads - 1];
  int at = ++event;
  for (int i = 0; i < kThreads - 1; ++i) pthread_create(&thread[i], NULL, meets, &at);
  truth_sleep(delay);
  meets(&at);
  for (int i = 0; i < kThreads - 1; ++i) pthread_join(thread[i], NULL);
}

static void* works(void* at) {
  truth_sleep(delay);
  truth_enter("thread_end", __func__);
  truth_exit();
  truth_enables(*(int*)at);
  return NULL;
}

SCENARIO join(void) {
  pthread_t thread;
  int at = ++event;
  pthread_create(&thread, NULL, works, &at);
  CALL(pthread_join, thread, NULL);
  truth_awaits(TRUTH_JOIN, at);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } scenario[] = {{"omp_barrier", omp_barrier},
                  {"omp_region_end", omp_region_end},
                  {"omp_idle", omp_idle},
                  {"lock_held", lock_held},
                  {"condition_wait", condition_wait},
                  {"barrier_wait", barrier_wait},
                  {"join", join}};
  truth_open(argc > 1 ? argv[1] : ".");
  if (argc > 2) repetitions = atoi(argv[2]);
  if (argc > 3) delay = atof(argv[3]);
  pthread_barrier_init(&start, NULL, 2);
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (unsigned s = 0; s < sizeof scenario / sizeof *scenario; ++s) {
    if (argc > 4 && strcmp(argv[4], scenario[s].name) != 0) continue;
    for (int i = 0; i < repetitions; ++i) scenario[s].run();
  }
  truth_write();
  return 0;
}
