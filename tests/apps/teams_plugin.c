/* A plug-in that brings OpenMP along, which its host knows nothing of (test_teams.py). */
#include <omp.h>

static long shared;

/* Ends in a barrier: compilers make a jump of the last call. */
static __attribute__((noinline)) void add_and_meet(int number) {
#pragma omp critical
  shared += number;
#pragma omp barrier
}

/* The loader, which waits for this, holds its lock: none of the threads may ask it anything. */
static __attribute__((constructor)) void begin(void) {
#pragma omp parallel num_threads(4)
  {
#pragma omp barrier
#pragma omp critical
    ++shared;
#pragma omp barrier
  }
}

/* A region as the last call: a jump again, which seems to come from the host. */
void plugin_region(void) {
#pragma omp parallel num_threads(3)
  {
#pragma omp atomic
    ++shared;
  }
}

long plugin_sum(int threads) {
  shared = 0;
#pragma omp parallel num_threads(threads)
  {
    add_and_meet(omp_get_thread_num());
#pragma omp single
    for (int i = 0; i < 10; ++i) {
#pragma omp task
      {
#pragma omp atomic
        shared += i;
      }
    }
    add_and_meet(1);
  }
  return shared;
}
