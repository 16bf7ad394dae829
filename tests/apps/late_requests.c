/* Two ranks that start persistent requests again and again; with an argument, partitioned messages (MPI 4).
   The requests are made before MPI_Pcontrol(1): with --delay, before sampling begins. */
#include <mpi.h>

enum { kBytes = 64, kStarts = 20 };

static char buffer[kBytes];
static volatile unsigned long sink;

static void work(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) sink += 1;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int partitioned = argc > 1;
  if (!partitioned) {
    if (rank == 0) MPI_Send_init(buffer, kBytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
    if (rank == 1) MPI_Recv_init(buffer, kBytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
  }
#if MPI_VERSION >= 4
  if (partitioned && rank == 0)
    MPI_Psend_init(buffer, 1, kBytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  if (partitioned && rank == 1)
    MPI_Precv_init(buffer, 1, kBytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
#endif
  MPI_Pcontrol(1);
  for (int i = 0; i < kStarts && rank < 2; ++i) {
    if (rank == 0) work(0.02);
    MPI_Start(&request);
#if MPI_VERSION >= 4
    if (partitioned && rank == 0) MPI_Pready(0, request);
#endif
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (rank < 2) MPI_Request_free(&request);
  MPI_Finalize();
  return 0;
}
