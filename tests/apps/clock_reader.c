// Computes for some seconds, and asks the kernel for the time once in some million operations: where a thread
// loses its processor to others, it loses it there.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static double compute(void) {
  double sum = 0;
  for (int i = 0; i < 400000; ++i) sum += sqrt(i + sum);
  return sum;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 2;
  double sum = 0;
  while ((double)clock() / CLOCKS_PER_SEC < seconds) sum += compute();
  printf("%g\n", sum);
}
