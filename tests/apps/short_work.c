// A thread computes for a millisecond at a time, then waits at a barrier for the main thread, which computes
// longer: most samples of it meet it asleep.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static int rounds;

__attribute__((noinline)) static double compute(int operations) {
  double sum = 0;
  for (int i = 0; i < operations; ++i) sum += sqrt(i + sum);
  return sum;
}

static void* work(void* sum) {
  for (int i = 0; i < rounds; ++i) {
    *(double*)sum += compute(100000);
    pthread_barrier_wait(&barrier);
  }
  return sum;
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? atoi(argv[1]) : 200;
  double sums[2] = {0, 0};
  pthread_t thread;
  if (pthread_barrier_init(&barrier, NULL, 2) != 0 || pthread_create(&thread, NULL, work, sums) != 0)
    return 1;
  for (int i = 0; i < rounds; ++i) {
    sums[1] += compute(800000);
    pthread_barrier_wait(&barrier);
  }
  pthread_join(thread, NULL);
  printf("%g\n", sums[0] + sums[1]);
}
