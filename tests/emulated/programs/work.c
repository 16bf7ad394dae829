/* Time in a leaf that loops, below a recursion, and below qsort's calls back into the program. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STAYS __asm__ volatile("")

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

__attribute__((noinline)) static long leaf(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) {
    for (long j = 0; j < 64; ++j) sum += i ^ j;
    STAYS;
  }
  return sum;
}

__attribute__((noinline)) static long descend(int depth) {
  const long below = depth == 0 ? leaf(20000) : descend(depth - 1);
  STAYS;
  return below + depth;
}

__attribute__((noinline)) static int compare(const void* a, const void* b) {
  STAYS;
  return *(const int*)a - *(const int*)b;
}

__attribute__((noinline)) static void sort(void) {
  static int values[5000];
  for (int i = 0; i < 5000; ++i) values[i] = i * 7919 % 10007;
  qsort(values, 5000, sizeof values[0], compare);
  STAYS;
}

int main(void) {
  long sum = 0;
  for (const double end = now() + 2; now() < end;) {
    sum += descend(4);
    sort();
  }
  printf("%ld\n", sum);
  return 0;
}
