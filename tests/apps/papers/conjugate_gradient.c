/* The solver of an ocean model (CGPOP; Hermanns 2013, 5.3): two ranks have more ocean than the others, so
 * that their matrix-vector product takes longer. A barrier precedes the one-sided exchange of halos, which
 * does not need it. Without it (`light`) part of the waiting goes, and part becomes Late Post. Usage:
 * conjugate_gradient [barrier|light] [iterations] [factor of all work] */
#include "takes_time.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { HALO = 256 };

static int rank, ranks, with_barrier = 1, factor;
static MPI_Win window;
static MPI_Group neighbours;
static int partners[2];
static double *memory, halo[HALO];

static double ocean(void) {
  return rank == 1 || rank == ranks / 2 ? 6.0 : 3.0;
}

PROCEDURE void matrix_mod_matvec(void) {
  takes_ms(factor * ocean());
}

PROCEDURE void update_halo(void) {
  if (with_barrier) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_post(neighbours, 0, window);
  MPI_Win_start(neighbours, 0, window);
  for (int side = 0; side < 2; ++side)
    MPI_Put(halo, HALO, MPI_DOUBLE, partners[side], (MPI_Aint)(1 - side) * HALO, HALO, MPI_DOUBLE, window);
  MPI_Win_complete(window);
  MPI_Win_wait(window);
}

PROCEDURE double sum_of_products(void) {
  double mine = 1, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

PROCEDURE void update_vectors(void) {
  takes_ms(factor * 1.0);
}

PROCEDURE void pcg_chrongear_linear(int iterations) {
  for (int i = 0; i < iterations; ++i) {
    matrix_mod_matvec();
    update_halo();
    update_vectors();
    if (i % 10 == 0) sum_of_products();
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 4) {
    if (rank == 0) fprintf(stderr, "conjugate_gradient: needs 4 ranks or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  with_barrier = argc < 2 || strcmp(argv[1], "light") != 0;
  MPI_Win_allocate(2 * HALO * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &window);
  partners[0] = (rank + ranks - 1) % ranks;
  partners[1] = (rank + 1) % ranks;
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 2, partners, &neighbours);
  MPI_Group_free(&all);
  const double begin = MPI_Wtime();
  const int iterations = number_at(argc, argv, 2, 300);
  factor = number_at(argc, argv, 3, 1);
  pcg_chrongear_linear(iterations);
  if (rank == 0) printf("%d iterations, %.3f s\n", iterations, MPI_Wtime() - begin);
  MPI_Group_free(&neighbours);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
