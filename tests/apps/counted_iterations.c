/* Iterations of which some touch much more memory, and some compute much longer, on one rank each. Each rank
   logs what it had of both in each iteration, outside MPI: counted_iterations.RANK, one line `page faults, ns
   of CPU time` each.

   Usage: counted_iterations ITERATIONS FAULTING-RANK COMPUTING-RANK; every fifth iteration from the third on
   is unlike. */
#define _GNU_SOURCE
#include "culprit.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { kPage = 4096, kFewPages = 40, kManyPages = 4000, kShort = 15000000, kLong = 150000000 };

static long long cpu_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

__attribute__((noinline)) static void touch(int pages) {
  volatile char* memory =
      mmap(NULL, (size_t)pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  madvise((void*)memory, (size_t)pages * kPage, MADV_NOHUGEPAGE);
  for (int i = 0; i < pages; ++i) memory[(size_t)i * kPage] = 1;
  munmap((void*)memory, (size_t)pages * kPage);
}

__attribute__((noinline)) static void compute(long long ns) {
  const long long end = cpu_time() + ns;
  while (cpu_time() < end) {
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int iterations = atoi(argv[1]);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char name[64];
  snprintf(name, sizeof name, "counted_iterations.%d", rank);
  FILE* log = fopen(name, "w");
  if (log == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < iterations; ++i) {
    culprit_iteration(i);
    const long faults_before = faults();
    const long long cpu_before = cpu_time();
    const int unlike = i % 5 == 3;
    touch(unlike && rank == atoi(argv[2]) ? kManyPages : kFewPages);
    compute(unlike && rank == atoi(argv[3]) ? kLong : kShort);
    fprintf(log, "%ld %lld\n", faults() - faults_before, cpu_time() - cpu_before);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  fclose(log);
  MPI_Finalize();
  return 0;
}
