/* A weather model with clouds that grow (COSMO-SPECS; Weber 2016, V): the dynamics take as long everywhere,
 * the microphysics as long as there are clouds, which gather over the ranks in the middle, more in each step.
 * `balanced` deals clouds out evenly (FD4), and one rank is interrupted in one step: a single call takes much
 * longer, without computing. This program computes, since what marks an interruption is the CPU time that is
 * missing: use no more ranks than processors. Usage: clouds [growing|balanced] [steps] */
#include "takes_time.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, ranks, balanced;
static volatile double sink;

PROCEDURE void compute_cells(long cells) {
  double value = 1;
  for (long i = 0; i < cells; ++i)
    value = value * 0.999999 + 2e-6; /* towards 2; at its limit a compiler would leave it out */
  sink = value;
}

PROCEDURE void dynamics(void) {
  compute_cells(1500000);
}

PROCEDURE void condense(int step, int steps) {
  const int middle = ranks / 2;
  const double mine = balanced ? 0.5 : rank == middle ? 0.5 + 2.0 * step / steps : 0.5;
  compute_cells((long)(mine * 4e6));
  if (balanced && rank == middle && step == steps / 3) takes_ms(250);
}

PROCEDURE void microphysics(int step, int steps) {
  condense(step, steps);
}

PROCEDURE void exchange_boundaries(void) {
  double out = sink, in = 0;
  MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, &in, 1, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

PROCEDURE void time_step(int step, int steps) {
  exchange_boundaries();
  dynamics();
  microphysics(step, steps);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  balanced = argc > 1 && strcmp(argv[1], "balanced") == 0;
  const int steps = number_at(argc, argv, 2, 150);
  const double begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) time_step(step, steps);
  if (rank == 0) printf("%d steps, %.3f s\n", steps, MPI_Wtime() - begin);
  MPI_Finalize();
  return 0;
}
