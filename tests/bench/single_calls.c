/* The cost of single MPI calls that wait for nobody, so far apart that all of them are followed: least and
 * median in ns, beside those of reading the clock, which are part of them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kCalls = 40000, kApart = 80000 /* ns */ };

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const long x = *(const long*)a, y = *(const long*)b;
  return (x > y) - (x < y);
}

static void print(const char* name, long* times) {
  qsort(times, kCalls, sizeof *times, compare);
  printf("%s %ld\n%s-median %ld\n", name, times[0], name, times[kCalls / 2]);
}

int main(int argc, char** argv) {
  static long clock[kCalls], wait[kCalls], barrier[kCalls];
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < kCalls; ++i) {
    for (const long end = now() + kApart; now() < end;) continue;
    const long begin = now();
    const long read = now();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const long waited = now();
    MPI_Barrier(MPI_COMM_SELF);
    const long met = now();
    clock[i] = read - begin;
    wait[i] = waited - read;
    barrier[i] = met - waited;
  }
  print("clock", clock);
  print("Wait", wait);
  print("Barrier", barrier);
  MPI_Finalize();
  return 0;
}
