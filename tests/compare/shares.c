/* A program of one thread whose functions take known shares of its time. Prints by function how many seconds
   of the processor's time it took, its own code alone. Usage: shares STEPS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kForces, kNeighbors, kCompare, kReduce, kRare, kFunctions };
static const char* const kNames[kFunctions] = {"forces", "neighbors", "by_key", "reduce", "rare"};
static double spent[kFunctions];
static volatile double sink = 1;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A function with a loop of its own, so that samples are in its code. */
#define WORK(function, rounds)                                       \
  do {                                                               \
    const double begin = now();                                      \
    double x = sink; /* not a constant */                            \
    for (long i = 0; i < (rounds); ++i) x = x * 0.999999 + 0.000002; \
    sink = x;                                                        \
    spent[function] += now() - begin;                                \
  } while (0)

__attribute__((noinline)) static void forces(void) {
  WORK(kForces, 4000000);
}

__attribute__((noinline)) static void neighbors(void) {
  WORK(kNeighbors, 2500000);
}

__attribute__((noinline)) static void reduce(void) {
  WORK(kReduce, 1000000);
}

__attribute__((noinline)) static void rare(void) {
  WORK(kRare, 500000);
}

/* Called by the C library, which has no frame pointers. */
__attribute__((noinline)) static int by_key(const void* a, const void* b) {
  WORK(kCompare, 500000);
  return *(const int*)a - *(const int*)b;
}

__attribute__((noinline)) static void step(int depth) {
  if (depth > 0) {
    step(depth - 1);
    sink += depth; /* not a tail call */
    return;
  }
  forces();
  neighbors();
  int keys[4] = {3, 1, 2, 0};
  qsort(keys, 4, sizeof keys[0], by_key);
  reduce();
  rare();
}

int main(int argc, char** argv) {
  const long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
  for (long i = 0; i < steps; ++i) step(20);
  for (int i = 0; i < kFunctions; ++i) printf("%s %.6f\n", kNames[i], spent[i]);
  return 0;
}
