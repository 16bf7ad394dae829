// Poisson's equation on a square by red-black successive over-relaxation: a two-dimensional grid on a mesh of
// processes, halos exchanged one-sidedly after each colour, and a reduction that tests for convergence, as
// the benchmark is described of which one-sided waits and their causes were first seen (Hermanns 2009, 2013).
//   sor EXCHANGE CELLS ITERATIONS IMBALANCE
//   EXCHANGE    fence, or post: general active target synchronization with the neighbours
//   CELLS       a process's, in each direction
//   IMBALANCE   how much longer the first process takes for each of its cells: 0.5 is half as long again
// Prints the iterations made and the residual, which neither the exchange nor the imbalance changes.
// What a test compares with the structure that is recovered (as in ring.f90; ALL LOOPS are annotated).
// Built with -DMARKED it tells its sampler where iterations begin, and that each is a region.
#ifdef MARKED
#include <culprit.h>
#endif
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBelow, kAbove, kLeft, kRight, kSides };
enum { kTerms = 6 };

static const double kTolerance = 1e-7;

struct Grid {
  int cells, row, column;  // of this process's block: inner cells in each direction; where it is in the mesh
  int extra;               // terms of the source that change nothing but the time it takes
  double *values, *halo;   // (cells + 2)²; kSides × cells, the window: what the neighbours put
  double width, omega;     // of a cell; the relaxation
  int neighbors[kSides];   // or MPI_PROC_NULL
  MPI_Comm mesh;
  MPI_Win window;
  MPI_Group around;  // the neighbours
};

static double* at(const struct Grid* grid, int row, int column) {
  return grid->values + (size_t)row * (size_t)(grid->cells + 2) + column;
}

/// The right-hand side: some waves. Extra terms weigh nothing.
static double source(const struct Grid* grid, int row, int column) {
  const double y = (grid->row * grid->cells + row) * grid->width;
  const double x = (grid->column * grid->cells + column) * grid->width;
  double sum = 0;
  for (int k = 1; k <= kTerms + grid->extra; ++k) {  // LOOP terms
    // SOME loop:iterations? loop:colours? in:relax? loop:rows loop:columns in:source loop:terms
    const double term = sin(k * M_PI * x) * sin(k * M_PI * y) / k;
    sum += k <= kTerms ? term : 0 * term;
  }
  return sum;
}

/// Relaxes the cells of one colour; returns the sum of the squares of what was changed.
static double relax(struct Grid* grid, int colour) {
  double change = 0;
  const int first = (grid->row + grid->column) * grid->cells + colour;
  for (int row = 1; row <= grid->cells; ++row) {                                    // LOOP rows
    for (int column = 1 + (row + first) % 2; column <= grid->cells; column += 2) {  // LOOP columns
      double* const cell = at(grid, row, column);
      const double around = cell[-1] + cell[1] + cell[-(grid->cells + 2)] + cell[grid->cells + 2];
      const double wanted = (around - grid->width * grid->width * source(grid, row, column)) / 4;
      // SOME loop:iterations? loop:colours? in:relax? loop:rows loop:columns
      const double step = grid->omega * (wanted - *cell);
      *cell += step;
      change += step * step;
    }
  }
  return change;
}

/// Where a neighbour's halo is in its window: it lies on the other side of it.
static MPI_Aint place(const struct Grid* grid, int side) {
  return (MPI_Aint)(side ^ 1) * grid->cells;
}

static void put_borders(struct Grid* grid, double* columns) {
  const int n = grid->cells;
  for (int row = 1; row <= n; ++row) {  // LOOP border
    columns[row - 1] = *at(grid, row, 1);
    columns[n + row - 1] = *at(grid, row, n);
  }
  const double* const borders[kSides] = {at(grid, 1, 1), at(grid, n, 1), columns, columns + n};
  for (int side = 0; side < kSides; ++side) {  // LOOP sides
    if (grid->neighbors[side] == MPI_PROC_NULL) continue;
    // PATH loop:iterations? loop:colours? in:exchange_by_fence|exchange_by_post? in:put_borders? loop:sides?
    MPI_Put(borders[side], n, MPI_DOUBLE, grid->neighbors[side], place(grid, side), n, MPI_DOUBLE,
            grid->window);
  }
}

static void take_halo(struct Grid* grid) {
  const int n = grid->cells;
  if (grid->neighbors[kBelow] != MPI_PROC_NULL)
    memcpy(at(grid, 0, 1), grid->halo + kBelow * n, (size_t)n * sizeof(double));
  if (grid->neighbors[kAbove] != MPI_PROC_NULL)
    memcpy(at(grid, n + 1, 1), grid->halo + kAbove * n, (size_t)n * sizeof(double));
  for (int row = 1; row <= n; ++row) {  // LOOP halo
    if (grid->neighbors[kLeft] != MPI_PROC_NULL) *at(grid, row, 0) = grid->halo[kLeft * n + row - 1];
    if (grid->neighbors[kRight] != MPI_PROC_NULL) *at(grid, row, n + 1) = grid->halo[kRight * n + row - 1];
  }
}

static void exchange_by_fence(struct Grid* grid, double* columns) {
  // PATH loop:iterations? loop:colours? in:exchange_by_fence?
  MPI_Win_fence(MPI_MODE_NOPRECEDE, grid->window);
  put_borders(grid, columns);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, grid->window);
  take_halo(grid);
}

static void exchange_by_post(struct Grid* grid, double* columns) {
  MPI_Win_post(grid->around, 0, grid->window);
  MPI_Win_start(grid->around, 0, grid->window);
  put_borders(grid, columns);
  MPI_Win_complete(grid->window);
  MPI_Win_wait(grid->window);
  take_halo(grid);
}

static void make_mesh(struct Grid* grid) {
  int ranks = 0, sides[2] = {0, 0}, here[2] = {0, 0}, rank = 0;
  const int open[2] = {0, 0};
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, sides);
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, open, 0, &grid->mesh);
  MPI_Comm_rank(grid->mesh, &rank);
  MPI_Cart_coords(grid->mesh, rank, 2, here);
  grid->row = here[0];
  grid->column = here[1];
  MPI_Cart_shift(grid->mesh, 0, 1, &grid->neighbors[kBelow], &grid->neighbors[kAbove]);
  MPI_Cart_shift(grid->mesh, 1, 1, &grid->neighbors[kLeft], &grid->neighbors[kRight]);
  int members[kSides], count = 0;
  for (int side = 0; side < kSides; ++side) {  // LOOP neighbours
    if (grid->neighbors[side] != MPI_PROC_NULL) members[count++] = grid->neighbors[side];
  }
  MPI_Group all;
  MPI_Comm_group(grid->mesh, &all);
  MPI_Group_incl(all, count, members, &grid->around);
  MPI_Group_free(&all);
  const int longest = (sides[0] > sides[1] ? sides[0] : sides[1]) * grid->cells;
  grid->width = 1.0 / (longest + 1);
  grid->omega = 2 / (1 + sin(M_PI * grid->width));
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count != 5 || atoi(arguments[2]) < 1) {
    if (rank == 0) fprintf(stderr, "usage: sor fence|post CELLS ITERATIONS IMBALANCE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  struct Grid grid = {.cells = atoi(arguments[2])};
  const int iterations = atoi(arguments[3]);
  grid.extra = rank == 0 ? (int)lround(kTerms * atof(arguments[4])) : 0;
  make_mesh(&grid);
  grid.values = calloc((size_t)(grid.cells + 2) * (size_t)(grid.cells + 2), sizeof(double));
  double* const columns = malloc(2 * (size_t)grid.cells * sizeof(double));
  const MPI_Aint bytes = (MPI_Aint)sizeof(double) * kSides * grid.cells;
  MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, grid.mesh, &grid.halo, &grid.window);

  const int by_fence = strcmp(arguments[1], "fence") == 0;
  double residual = 1;
  int iteration = 0;
  for (; iteration < iterations && residual > kTolerance; ++iteration) {  // LOOP iterations
    double change = 0;
#ifdef MARKED
    culprit_iteration(iteration);
    culprit_region_begin("sweep");
#endif
    for (int colour = 0; colour < 2; ++colour) {  // LOOP colours
      change += relax(&grid, colour);
      if (by_fence) {
        exchange_by_fence(&grid, columns);
      } else {
        exchange_by_post(&grid, columns);
      }
    }
    // PATH loop:iterations
    MPI_Allreduce(&change, &residual, 1, MPI_DOUBLE, MPI_SUM, grid.mesh);
    residual = sqrt(residual);
#ifdef MARKED
    culprit_region_end("sweep");
#endif
  }
  if (rank == 0) printf("%d iterations, residual %.6e\n", iteration, residual);
  MPI_Win_free(&grid.window);
  MPI_Group_free(&grid.around);
  MPI_Comm_free(&grid.mesh);
  free(columns);
  free(grid.values);
  MPI_Finalize();
}
