/* The cost of teams and locks while the process has several threads, in ns: of a parallel region of two
 * threads with nothing in it, of a barrier in one, of a free critical section, and of locks that are free, as
 * in lock_calls.c. The smallest of many batches. One line each. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { kBatches = 400, kCalls = 1000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

#define MEASURE(name, ...)                                           \
  do {                                                               \
    double smallest = 1e9;                                           \
    for (int batch = 0; batch < kBatches; ++batch) {                 \
      const double begin = now();                                    \
      for (int i = 0; i < kCalls; ++i) __VA_ARGS__;                  \
      const double each = (now() - begin) / kCalls;                  \
      if (each < smallest) smallest = each;                          \
    }                                                                \
    if (omp_get_thread_num() == 0) printf(name " %.1f\n", smallest); \
  } while (0)

static void region(void) {
#pragma omp parallel num_threads(2)
  __asm__ volatile("");
}

static void lone_region(void) {
#pragma omp parallel num_threads(1)
  __asm__ volatile("");
}

static void critical(void) {
#pragma omp critical
  __asm__ volatile("");
}

static void barrier(void) {
#pragma omp barrier
}

int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, recursive;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  omp_lock_t lock;
  omp_init_lock(&lock);
  region();
  MEASURE("region", region());
  MEASURE("region-of-one", lone_region());
#pragma omp parallel num_threads(2)
  MEASURE("barrier", barrier());
  MEASURE("critical", critical());
  MEASURE("omp-lock", (omp_set_lock(&lock), omp_unset_lock(&lock)));
  MEASURE("mutex", (pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex)));
  pthread_mutex_lock(&recursive);
  MEASURE("mutex-again", (pthread_mutex_lock(&recursive), pthread_mutex_unlock(&recursive)));
  return 0;
}
