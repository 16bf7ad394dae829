/* Ranks hand on a baton, from the last to the first. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, ranks, baton = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank + 1 < ranks) MPI_Recv(&baton, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank > 0) MPI_Send(&baton, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD);
  return MPI_Finalize();
}
