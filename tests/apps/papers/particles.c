/* An uneven particle code (after Tallent 2010, section V: idleness in a reduction, blame on the loop above
 * it). Particles gather on the ranks in the middle; moving them and their collisions take as long as there
 * are particles, the field takes as long everywhere. Ranks wait in the reductions of the field's solver, far
 * from the particles. Usage: particles [steps] [even: 1 for the same particles everywhere] */
#include "takes_time.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>

static int rank, ranks;
static double particles; /* thousands on this rank */

PROCEDURE void push(void) {
  takes_ms(2.0 * particles);
}
PROCEDURE void collide(void) {
  takes_ms(1.0 * particles);
}

PROCEDURE void move_particles(void) {
  push();
  collide();
}

PROCEDURE void exchange_particles(void) {
  double out = particles, in = 0;
  MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, &in, 1, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

PROCEDURE void multiply_matrix(void) {
  takes_ms(1.5);
}

PROCEDURE double residual(void) {
  double mine = 1.0 / (1 + rank), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

PROCEDURE double solve_field(void) {
  double left = 0;
  for (int iteration = 0; iteration < 3; ++iteration) {
    multiply_matrix();
    left += residual();
  }
  return left;
}

PROCEDURE double advance(int steps) {
  double left = 0;
  for (int step = 0; step < steps; ++step) {
    move_particles();
    exchange_particles();
    left = solve_field();
  }
  return left;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double middle = (ranks - 1) / 2.0;
  particles = number_at(argc, argv, 2, 0) ? 4.0 : 2.0 + 4.0 * exp(-(rank - middle) * (rank - middle) / 2.0);
  const double left = advance(number_at(argc, argv, 1, 120));
  if (rank == 0) printf("residual %.6f\n", left);
  MPI_Finalize();
  return 0;
}
