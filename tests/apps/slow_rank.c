// Each iteration: 10 ms of work on every rank, 40 ms more on the last one, and a reduction for which the
// others wait. usage: slow_rank SECONDS STOP_FILE [mark]: ends after so long, or when the file is there. With
// `mark`, iterations are marked. The last line of rank 0 says how many there were.
#include "culprit.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile double sink;

static void spend(double seconds) {
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) sink = sink * 0.5 + 1;
}

static __attribute__((noinline)) void prepare(void) {
  spend(0.010);
  sink = 0;
}

static __attribute__((noinline)) void assemble(void) {
  spend(0.040);
  sink = 0;
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const double end = MPI_Wtime() + atof(argv[1]);
  const int marks = argc > 3 && strcmp(argv[3], "mark") == 0;
  long iterations = 0;
  for (int stop = 0; !stop; ++iterations) {
    if (marks) culprit_iteration(iterations);
    prepare();
    if (rank == ranks - 1) assemble();
    int mine = MPI_Wtime() > end || access(argv[2], F_OK) == 0;
    MPI_Allreduce(&mine, &stop, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%ld iterations\n", iterations);
  return MPI_Finalize();
}
