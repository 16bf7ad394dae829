/* One-sided halos as in BT-RMA (Hermanns 2009, 5.2): three solver sweeps along a ring of ranks and an
 * exchange of faces in each iteration. The variants are the paper's steps: `fence` waits for everybody at
 * each exchange; `epochs` (post, start, complete, wait) only for neighbours, but exposes a window no sooner
 * than it accesses one; `early` exposes before the computation and keeps accesses short. The ranks' cells
 * differ a little, as domains of real grids do. Usage: block_tridiagonal [fence|epochs|early] [iterations] */
#include "takes_time.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { FACE = 512, SWEEPS = 3 };
enum variant { FENCE, EPOCHS, EARLY };

static int rank, ranks;
static enum variant variant;
static MPI_Win window;
static MPI_Group from, to;
static double *memory, face[FACE];

static double cells(int sweep) {
  return 2.0 + ((rank + sweep) % ranks) * 0.25;
}

PROCEDURE void x_solve(void) {
  takes_ms(cells(0));
}
PROCEDURE void y_solve(void) {
  takes_ms(cells(1));
}
PROCEDURE void z_solve(void) {
  takes_ms(cells(2));
}
PROCEDURE void compute_rhs(void) {
  takes_ms(3.0);
}

PROCEDURE void put_face(int at) {
  MPI_Put(face, FACE, MPI_DOUBLE, (rank + 1) % ranks, (MPI_Aint)at * FACE, FACE, MPI_DOUBLE, window);
}

static void expose(void) {
  if (variant != FENCE) MPI_Win_post(from, 0, window);
}

PROCEDURE void exchange(int at) {
  if (variant == FENCE) {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    put_face(at);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    return;
  }
  if (variant == EPOCHS) expose();
  MPI_Win_start(to, 0, window);
  put_face(at);
  MPI_Win_complete(window);
  MPI_Win_wait(window);
}

PROCEDURE void sweep(int direction) {
  if (variant == EARLY) expose();
  if (direction == 0) x_solve();
  if (direction == 1) y_solve();
  if (direction == 2) z_solve();
  exchange(direction);
}

PROCEDURE void copy_faces(void) {
  if (variant == EARLY) expose();
  compute_rhs();
  exchange(SWEEPS);
}

PROCEDURE void adi(void) {
  copy_faces();
  for (int direction = 0; direction < SWEEPS; ++direction) sweep(direction);
}

static MPI_Group neighbour(int who) {
  MPI_Group all, one;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &who, &one);
  MPI_Group_free(&all);
  return one;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && strcmp(argv[1], "epochs") == 0) variant = EPOCHS;
  if (argc > 1 && strcmp(argv[1], "early") == 0) variant = EARLY;
  MPI_Win_allocate((SWEEPS + 1) * FACE * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &memory, &window);
  to = neighbour((rank + 1) % ranks);
  from = neighbour((rank + ranks - 1) % ranks);
  const double begin = MPI_Wtime();
  const int iterations = number_at(argc, argv, 2, 100);
  for (int i = 0; i < iterations; ++i) adi();
  if (rank == 0) printf("%d iterations, %.3f s\n", iterations, MPI_Wtime() - begin);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
