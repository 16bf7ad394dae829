// Programs of each kind that a report's verdict tells (docs/diagnosis.md), for some seconds.
// Usage: verdicts KIND SECONDS [DIRECTORY]
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, ranks, sum;
static double written_s;  // in checkpoint

__attribute__((noinline)) static void work_for(double seconds) {
  const double end = MPI_Wtime() + seconds;
  static volatile double x;
  while (MPI_Wtime() < end) {
    for (int i = 0; i < 1000; ++i) x += i;
  }
}

static void meet(void) {
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

// Something behind each call, so that it is none that the caller's frame makes room for.
__attribute__((noinline)) static void smooth(double seconds) {
  work_for(seconds);
  sum += 1;
}
__attribute__((noinline)) static void assemble(double seconds) {
  work_for(seconds);
  sum -= 1;
}

// How long this rank works in one iteration, in ms, `done` of the run behind it: longer than a host takes a
// processor away.
static double uneven(const char* kind, int iteration, double done) {
  if (strcmp(kind, "lasting") == 0) return rank == 0 ? 60 : 30;
  if (strcmp(kind, "drifting") == 0) return rank == (int)(done * ranks) ? 60 : 30;
  if (strcmp(kind, "intermittent") == 0) return rank == (iteration * 7 + iteration / 3) % ranks ? 60 : 30;
  if (strcmp(kind, "asleep") == 0) return 1;
  return strcmp(kind, "messages") == 0 || strcmp(kind, "large") == 0 ? 4 : 40;
}

// For 50 ms, rank 0 alone writes blocks of 64 KiB, synchronously; file systems differ in how many that are.
// Emptying the file, in open, takes some of them a fifth of the time.
__attribute__((noinline)) static void checkpoint(const char* directory) {
  static char block[65536];
  char path[4096];
  snprintf(path, sizeof path, "%s/checkpoint", directory);
  const double start = MPI_Wtime(), end = start + 50e-3;
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  do {
    if (pwrite(file, block, sizeof block, 0) < 0 || fsync(file) != 0) perror("checkpoint");
  } while (MPI_Wtime() < end);
  close(file);
  written_s += MPI_Wtime() - start;
}

static void log_written(const char* directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/written_s", directory);
  FILE* const file = fopen(path, "w");
  if (file == NULL || fprintf(file, "%.6f\n", written_s) < 0 || fclose(file) != 0) perror(path);
}

// One value at a time to the next rank and from the one before.
__attribute__((noinline)) static void pass_on(void) {
  for (int i = 0; i < 5000; ++i) {
    double out = i, in;
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, &in, 1, MPI_DOUBLE, (rank + ranks - 1) % ranks,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

// 32 MiB, a few times: what takes long is to move them.
__attribute__((noinline)) static void pass_field(void) {
  enum { kBytes = 32 << 20 };
  static char *out, *in;
  if (out == NULL) {
    out = malloc(kBytes);
    in = malloc(kBytes);
    memset(out, rank, kBytes);
  }
  for (int i = 0; i < 4; ++i) {
    MPI_Sendrecv(out, kBytes, MPI_BYTE, (rank + 1) % ranks, 0, in, kBytes, MPI_BYTE,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

__attribute__((noinline)) static void rest_for(double seconds) {
  nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * seconds)}, NULL);
  sum += 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const kind = argv[1];
  const double length = atof(argv[2]), start = MPI_Wtime();
  double done = 0;
  for (int iteration = 0; done < 1; ++iteration) {
    if (strcmp(kind, "serial") == 0 && rank == 0) assemble(30e-3);
    if (strcmp(kind, "serial") == 0) meet();
    if (strcmp(kind, "io") == 0 && rank == 0) checkpoint(argc > 3 ? argv[3] : ".");
    if (strcmp(kind, "messages") == 0) pass_on();
    if (strcmp(kind, "large") == 0) pass_field();
    if (strcmp(kind, "asleep") == 0) rest_for(40e-3);
    smooth(1e-3 * uneven(kind, iteration, done));
    meet();
    done = (MPI_Wtime() - start) / length;
    MPI_Bcast(&done, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  if (written_s > 0) log_written(argc > 3 ? argv[3] : ".");
  MPI_Finalize();
}
