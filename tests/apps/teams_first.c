/* A plug-in whose constructor waits for a thread that makes the first calls of OpenMP of that library: the
 * loader holds its lock meanwhile (test_teams.py). */
#include <omp.h>
#include <pthread.h>
#include <stddef.h>

static omp_lock_t lock;
static long shared;

static void* calls_first(void* unused) {
  omp_set_lock(&lock);
  ++shared;
  omp_unset_lock(&lock);
#pragma omp critical
  ++shared;
#pragma omp parallel num_threads(3)
  {
#pragma omp barrier
#pragma omp atomic
    ++shared;
#pragma omp single
    {
#pragma omp task
      {
#pragma omp critical(named)
        ++shared;
      }
#pragma omp taskwait
    }
  }
  return unused;
}

static __attribute__((constructor)) void begin(void) {
  pthread_t thread;
  omp_init_lock(&lock);
  if (pthread_create(&thread, NULL, calls_first, NULL) == 0) pthread_join(thread, NULL);
}

void plugin_region(void) {
  calls_first(NULL);
}

long plugin_sum(int threads) {
  return shared + threads;
}
