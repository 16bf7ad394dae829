/* Rank 0 comes late to every reduction and sends to rank 1; prints nothing. `exchange` is also what the
   plug-in of late_mpi.c offers. */
#include <mpi.h>
#include <unistd.h>

enum { kTimes = 20, kLate = 20000 };

int exchange(int* argc, char*** argv) {
  int rank, sum = 0;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kTimes; ++i) {
    int one = 1;
    if (rank == 0) {
      usleep(kLate);
      MPI_Send(&one, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
    if (rank == 1) MPI_Recv(&one, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) usleep(kLate);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}

#ifndef PLUGIN
int main(int argc, char** argv) {
  return exchange(&argc, &argv);
}
#endif
