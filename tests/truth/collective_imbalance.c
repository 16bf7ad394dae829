/* Truth: `slow_part` on one rank makes all others wait in MPI_Allreduce; `first_part` and `second_part` are
 * uneven, but compensate each other on every rank, so they are innocent. Each rank logs by its own clock how
 * long it was inside MPI_Allreduce; the truth is computed from these logs, not from the nominal delays.
 * Usage: collective_imbalance LOGPREFIX [iterations] [slow rank] [spin|sleep] [factor of all work] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int sleeping;
static double factor = 1;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(double milliseconds) {
  milliseconds *= factor;
  if (sleeping) {
    struct timespec t = {0, (long)(milliseconds * 1e6)};
    nanosleep(&t, NULL);
    return;
  }
  const double end = seconds() + 1e-3 * milliseconds;
  volatile double sum = 0;
  while (seconds() < end) { /* looks at the clock every ten microseconds or so */
    for (int i = 1; i < 2000; ++i) sum += 1.0 / i;
  }
}

__attribute__((noinline)) static void even_part(void) {
  work(4);
  __asm__ volatile("");
}
__attribute__((noinline)) static void slow_part(void) {
  work(8);
  __asm__ volatile("");
}
__attribute__((noinline)) static void first_part(int rank) {
  work(rank % 2 ? 1 : 4);
  __asm__ volatile("");
}
__attribute__((noinline)) static void second_part(int rank) {
  work(rank % 2 ? 4 : 1);
  __asm__ volatile("");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* prefix = argc > 1 ? argv[1] : "truth";
  const int iterations = argc > 2 ? atoi(argv[2]) : 200;
  const int slow = argc > 3 ? atoi(argv[3]) : ranks - 1;
  if (argc > 5) factor = atof(argv[5]);
  sleeping = argc > 4 && strcmp(argv[4], "sleep") == 0;

  double inside = 0, slow_time = 0, pair_time = 0;
  int sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = seconds();
  for (int i = 0; i < iterations; ++i) { /* the balanced loop */
    even_part();
    const double pair = seconds();
    first_part(rank);
    const double before = seconds();
    if (rank == slow) slow_part();
    const double after = seconds();
    second_part(rank);
    const double enter = seconds();
    slow_time += after - before;
    pair_time += before - pair + enter - after;
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    inside += seconds() - enter;
  }
  const double total = seconds() - begin;

  char name[4096];
  snprintf(name, sizeof name, "%s.%d", prefix, rank);
  FILE* log = fopen(name, "w");
  if (!log) MPI_Abort(MPI_COMM_WORLD, 1);
  fprintf(log,
          "{\"rank\": %d, \"allreduce_s\": %.6f, \"loop_s\": %.6f, \"slow_s\": %.6f, \"pair_s\": %.6f}\n",
          rank, inside, total, slow_time, pair_time);
  fclose(log);
  MPI_Finalize();
  return 0;
}
