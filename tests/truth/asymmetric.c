/* Truth: programs whose ranks do not run the same calls. Which code makes the others wait, and on which rank,
 * is known by construction:
 *
 *   sites         every rank calls common() from a place of its own; rank 0 calls second() before it sends,
 * rank 1 third() before it sends on: second() on rank 0 is to blame, common() is not alternatives  rank 0
 * runs first_way() and the others other_way(), equally long; extra() runs on rank 0 only serial
 * serial_section() on rank 0, then a broadcast from rank 2, whose root waits for rank 0 before it below_one
 * step() calls part_a(), longer on rank 0, part_b(), longer on rank 1, part_c() and part_d() helper smooth()
 * on rank 1 works longer, in a helper that all functions share
 *
 * Work is sleep, so that ranks do not take each other's processor. Each rank logs by its own clock how long
 * it was in which function. Usage: asymmetric LOGPREFIX SCENARIO [iterations]; four ranks */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FUNCTION __attribute__((noinline)) static void
#define NO_TAIL_CALL __asm__ volatile("")

enum { MOST = 16 };
static struct {
  const char* name;
  double seconds;
} spent[MOST];
static int rank, ranks;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The helper that all functions share. */
FUNCTION pause_for(double milliseconds, const char* who) {
  const double begin = now();
  struct timespec t = {0, (long)(milliseconds * 1e6)};
  nanosleep(&t, NULL);
  int i = 0;
  while (i < MOST - 1 && spent[i].name && strcmp(spent[i].name, who) != 0) ++i;
  spent[i].name = who;
  spent[i].seconds += now() - begin;
}

#define WORKS(function)                    \
  FUNCTION function(double milliseconds) { \
    pause_for(milliseconds, #function);    \
    NO_TAIL_CALL;                          \
  }
WORKS(common)
WORKS(second)
WORKS(third)
WORKS(first_way)
WORKS(other_way)
WORKS(extra)
WORKS(serial_section)
WORKS(part_a)
WORKS(part_b)
WORKS(part_c)
WORKS(part_d)
WORKS(flux)
WORKS(smooth)
WORKS(residual)

FUNCTION sites(void) {
  int token = 0;
  if (rank == 0) {
    common(30);
    second(15);
    MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    common(30);
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    third(5);
    MPI_Send(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
  } else {
    common(30);
    if (rank == 2) MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

FUNCTION alternatives(void) {
  if (rank == 0) {
    first_way(25);
    extra(8);
  } else {
    other_way(25);
  }
  common(10);
  MPI_Barrier(MPI_COMM_WORLD);
}

FUNCTION serial(void) {
  int value = 0, all[64];
  common(20);
  if (rank == 0) {
    serial_section(20);
    MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
  }
  if (rank == 2) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Bcast(&value, 1, MPI_INT, 2, MPI_COMM_WORLD);
  MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
}

FUNCTION step(void) {
  part_a(rank == 0 ? 22 : 8);
  part_b(rank == 1 ? 20 : 8);
  part_c(8);
  part_d(8);
  NO_TAIL_CALL;
}

FUNCTION below_one(void) {
  common(8);
  step();
  MPI_Barrier(MPI_COMM_WORLD);
}

FUNCTION helper(void) {
  flux(12);
  smooth(rank == 1 ? 18 : 10);
  residual(12);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void write_log(const char* prefix) {
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", prefix, rank);
  FILE* log = fopen(name, "w");
  if (!log) MPI_Abort(MPI_COMM_WORLD, 1);
  fprintf(log, "{\"rank\": %d", rank);
  for (int i = 0; i < MOST && spent[i].name; ++i)
    fprintf(log, ", \"%s\": %.6f", spent[i].name, spent[i].seconds);
  fprintf(log, "}\n");
  fclose(log);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } scenarios[] = {{"sites", sites},
                   {"alternatives", alternatives},
                   {"serial", serial},
                   {"below_one", below_one},
                   {"helper", helper}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  void (*scenario)(void) = NULL;
  for (size_t i = 0; argc > 2 && i < sizeof scenarios / sizeof *scenarios; ++i) {
    if (strcmp(argv[2], scenarios[i].name) == 0) scenario = scenarios[i].run;
  }
  if (!scenario || ranks < 3 || ranks > 64) {
    if (rank == 0) fprintf(stderr, "usage: %s LOGPREFIX SCENARIO [iterations], 3 to 64 ranks\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int iterations = argc > 3 ? atoi(argv[3]) : 60;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < iterations; ++i) scenario();
  write_log(argv[1]);
  MPI_Finalize();
  return 0;
}
