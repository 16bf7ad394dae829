/* Ranks that do an amount of work, however long it takes, and meet after each part of it: what the machine
   does to them is not their code's. Usage: fixed_work PARTS MILLIONS even|uneven|sleep, or fixed_work speed.
   uneven: rank 0 does twice as much; sleep: rank 0 sleeps 20 ms in each part; speed: prints how many millions
   take a second of CPU time here. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long sink;

__attribute__((noipa)) static void work(long millions) {
  for (long i = 0; i < millions * 1000000; ++i) sink = sink + (unsigned long)i;
}

__attribute__((noipa)) static void extra_work(long millions) {
  for (long i = 0; i < millions * 1000000; ++i) sink = sink + 2 * (unsigned long)i;
}

__attribute__((noipa)) static void rest(void) {
  const struct timespec part = {0, 20 * 1000 * 1000};
  nanosleep(&part, NULL);
  __asm__ volatile("");
}

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double millions_per_second(void) {
  const double begin = cpu_seconds();
  long millions = 0;
  for (; cpu_seconds() - begin < 0.1; ++millions) work(1);
  return (double)millions / (cpu_seconds() - begin);
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "speed") == 0) {
    printf("%f\n", millions_per_second());
    return 0;
  }
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const long parts = argc > 1 ? atol(argv[1]) : 10;
  const long millions = argc > 2 ? atol(argv[2]) : 10;
  const char* mode = argc > 3 ? argv[3] : "even";
  for (long part = 0; part < parts; ++part) {
    work(millions);
    if (rank == 0 && strcmp(mode, "uneven") == 0) extra_work(millions);
    if (rank == 0 && strcmp(mode, "sleep") == 0) rest();
    int mine = rank, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
