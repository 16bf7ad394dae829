/* Eight bytes from one rank to another and back, in ns: the smallest of many batches, on rank 0. By TCP
 * (mpirun --mca btl tcp,self), MPI writes to and reads from sockets that never wait. */
#include <mpi.h>
#include <stdio.h>

enum { kBatches = 100, kRounds = 200 };

static void round_trip(int rank) {
  char bytes[8] = {0};
  const int other = 1 - rank;
  if (rank == 0) MPI_Send(bytes, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD);
  MPI_Recv(bytes, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank != 0) MPI_Send(bytes, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double smallest = 1e9;
  for (int batch = 0; batch < kBatches; ++batch) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < kRounds; ++i) round_trip(rank);
    const double each = 1e9 * (MPI_Wtime() - begin) / kRounds;
    if (each < smallest) smallest = each;
  }
  if (rank == 0) printf("round-trip %.1f\n", smallest);
  MPI_Finalize();
  return 0;
}
