/* A user's own tool in the profiling interface of MPI: counts calls and passes them on.. */
#include <mpi.h>
#include <stdio.h>

static long sends, reductions;

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++reductions;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("tool: rank %d: %ld sends, %ld reductions\n", rank, sends, reductions);
  fflush(stdout);
  return PMPI_Finalize();
}
