/* A loop of polls with a little work of the program's own between them: polls MICROSECONDS SECONDS. Rank 1
 * asks for a message, by MPI_Iprobe and then by MPI_Test, that rank 0 sends after SECONDS, and works for
 * about MICROSECONDS after each poll. It prints how many polls were in vain, and how long it asked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static unsigned turns;
static volatile unsigned sum;
static unsigned long vain;

static NOINLINE void work_a_little(void) {
  for (unsigned i = 0; i < turns; ++i) sum += i;
}

static NOINLINE void asks_by_probe(void) {
  int found = 0;
  for (;;) {
    MPI_Iprobe(0, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    if (found) break;
    ++vain;
    work_a_little();
  }
}

static NOINLINE void asks_by_test(MPI_Request* request) {
  int found = 0;
  for (;;) {
    MPI_Test(request, &found, MPI_STATUS_IGNORE);
    if (found) break;
    ++vain;
    work_a_little();
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* So many turns take a microsecond. */
static unsigned turns_in_a_microsecond(void) {
  turns = 1000000;
  double least = 1;
  for (int i = 0; i < 10; ++i) {
    const double begin = now();
    work_a_little();
    const double length = now() - begin;
    if (length < least) least = length;
  }
  return (unsigned)(1e-6 * turns / least);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  const double microseconds = atof(arguments[1]);
  const useconds_t late = (useconds_t)(1e6 * atof(arguments[2]));
  int rank, in, out = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  turns = (unsigned)(microseconds * turns_in_a_microsecond());
  for (int by_test = 0; by_test < 2; ++by_test) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      usleep(late);
      MPI_Send(&out, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
      continue;
    }
    MPI_Request request;
    if (by_test) MPI_Irecv(&in, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    vain = 0;
    const double begin = now();
    if (by_test) {
      asks_by_test(&request);
    } else {
      asks_by_probe();
    }
    printf("%s %lu %.6f\n", by_test ? "MPI_Test" : "MPI_Iprobe", vain, now() - begin);
    if (!by_test) MPI_Recv(&in, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
