/* MPI without MPI_Init: a session (MPI 4). Rank 0 is late at 20 barriers, reductions of 256 KiB and epochs;
   the others wait. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kSteps = 20, kLate = 20000 /* us */, kMany = 1 << 15 };

static void late(int rank) {
  if (rank == 0) usleep(kLate);
}

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Win window;
  int rank, size, *memory;
  double* const sent = calloc(kMany, sizeof *sent);
  double* const sum = calloc(kMany, sizeof *sum);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "culprit.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &window);
  for (int step = 0; step < kSteps; ++step) {
    late(rank);
    MPI_Barrier(comm);
    late(rank);
    MPI_Allreduce(sent, sum, kMany, MPI_DOUBLE, MPI_SUM, comm);
    late(rank);
    MPI_Win_fence(0, window);
    MPI_Put(&step, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    MPI_Put(&step, 1, MPI_INT, rank, 0, 1, MPI_INT, window);
    MPI_Win_unlock(rank, window);
  }
  MPI_Win_free(&window);
  printf("rank %d of %d\n", rank, size);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  free(sent);
  free(sum);
  return 0;
}
