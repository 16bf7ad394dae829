/* All ranks but the last are in MPI_Allreduce under solve; the last one reads a pipe that nobody writes to,
   under load_mesh, for as many seconds as the first argument says: tests/integration/test_stacks.py. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile double sink;

NOINLINE static void solve(double* residual) {
  MPI_Allreduce(MPI_IN_PLACE, residual, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* here: solve */
  sink = *residual;
}

NOINLINE static void load_mesh(void) {
  int ends[2];
  char byte;
  if (pipe(ends) == 0 && read(ends[0], &byte, 1) < 0) perror("read"); /* here: load_mesh */
  sink = 1;
}

int main(int argc, char** argv) {
  int rank, ranks;
  double residual = 1;
  alarm(argc > 1 ? (unsigned)atoi(argv[1]) : 240);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == ranks - 1) load_mesh();
  solve(&residual);
  MPI_Finalize();
  return 0;
}
