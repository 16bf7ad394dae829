// Ranks that work unequally before a barrier, always alike, and then by lots before an allreduce. Each prints
// by its own clock, in seconds: its work before either, its time in either, and the standard deviation of
// what varies.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRounds = 400 };

static double work_until(double end) {
  while (MPI_Wtime() < end) continue;
  return MPI_Wtime();
}

__attribute__((noinline)) static double work_alike(double start, int rank) {
  return work_until(start + (rank == 0 ? 3e-3 : 2e-3));
}

__attribute__((noinline)) static double work_by_lot(double start) {
  return work_until(start + 4e-3 * rand() / RAND_MAX);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  srand(7 + (unsigned)rank);
  double alike = 0, barrier = 0, by_lot = 0, squares = 0, allreduce = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < kRounds; ++round) {
    const double start = MPI_Wtime(), worked = work_alike(start, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const double met = MPI_Wtime(), varied = work_by_lot(met);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const double end = MPI_Wtime();
    alike += worked - start;
    barrier += met - worked;
    by_lot += varied - met;
    squares += (varied - met) * (varied - met);
    allreduce += end - varied;
  }
  const double mean = by_lot / kRounds;
  printf("%d %.9f %.9f %.9f %.9f %.9f\n", rank, alike, barrier, by_lot, allreduce,
         sqrt(squares / kRounds - mean * mean));
  MPI_Finalize();
}
