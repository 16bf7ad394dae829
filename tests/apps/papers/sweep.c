/* A pipeline of wavefronts over a mesh of ranks (Sweep3D; Wu 2020, Böhme 2010): each rank receives from
 * upstream, computes, sends downstream, from each of four corners. Filling and draining make ranks wait that
 * nobody delays; one rank also takes longer for its cells (`fixup`), and its delay travels through the mesh.
 * Usage: sweep [iterations] [ms of fixups on the slow rank] */
#include "takes_time.h"

#include <mpi.h>
#include <stdio.h>

enum { BLOCKS = 6, EDGE = 128 };

static int rank, ranks, slow_ms;
static MPI_Comm mesh;
static int side[2], at[2];
static double edge[EDGE];

static int neighbour(int dimension, int step) {
  int before, after;
  MPI_Cart_shift(mesh, dimension, step, &before, &after);
  return after;
}

PROCEDURE void solve_cells(void) {
  takes_ms(1.0);
}
PROCEDURE void fixup(void) {
  takes_ms(slow_ms);
}

PROCEDURE void compute_block(void) {
  solve_cells();
  if (slow_ms > 0 && at[0] == side[0] / 2 && at[1] == 0) fixup();
}

PROCEDURE void sweep_from(int step_i, int step_j) {
  const int from[2] = {neighbour(0, -step_i), neighbour(1, -step_j)};
  const int to[2] = {neighbour(0, step_i), neighbour(1, step_j)};
  for (int block = 0; block < BLOCKS; ++block) {
    for (int d = 0; d < 2; ++d) MPI_Recv(edge, EDGE, MPI_DOUBLE, from[d], block, mesh, MPI_STATUS_IGNORE);
    compute_block();
    for (int d = 0; d < 2; ++d) MPI_Send(edge, EDGE, MPI_DOUBLE, to[d], block, mesh);
  }
}

PROCEDURE void source(void) {
  takes_ms(2.0);
}

PROCEDURE void inner(int iterations) {
  for (int i = 0; i < iterations; ++i) {
    source();
    for (int corner = 0; corner < 4; ++corner) sweep_from(corner & 1 ? -1 : 1, corner & 2 ? -1 : 1);
    double mine = 1, error = 0;
    MPI_Allreduce(&mine, &error, 1, MPI_DOUBLE, MPI_MAX, mesh);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, side);
  const int periods[2] = {0, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 2, side, periods, 0, &mesh);
  MPI_Comm_rank(mesh, &rank);
  MPI_Cart_coords(mesh, rank, 2, at);
  slow_ms = number_at(argc, argv, 2, 1);
  const double begin = MPI_Wtime();
  const int iterations = number_at(argc, argv, 1, 30);
  inner(iterations);
  if (rank == 0) printf("%d iterations, %.3f s\n", iterations, MPI_Wtime() - begin);
  MPI_Comm_free(&mesh);
  MPI_Finalize();
  return 0;
}
