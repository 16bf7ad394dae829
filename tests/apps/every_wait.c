/* Every sort of MPI call that waits, one after the other: in each scene rank 0 comes late by a sleep, and
   rank 1 waits in one call for it. Rank 1 prints, for every call, how long it was inside by its own clock:
   "NAME SECONDS". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLate = 60000, kLatePolls = 5 * kLate, kBig = 1 << 20 };

static int rank;
static MPI_Comm world;
static int* data;

static void late(void) {
  if (rank == 0) usleep(kLate);
}

/* The call on rank 1, between two readings of the clock. */
#define WAITS(name, ...)                                         \
  do {                                                           \
    const double enter = MPI_Wtime();                            \
    MPI_##name(__VA_ARGS__);                                     \
    if (rank == 1) printf(#name " %.6f\n", MPI_Wtime() - enter); \
  } while (0)
/* A scene in which both ranks make the same call. */
#define TOGETHER(name, ...)   \
  do {                        \
    PMPI_Barrier(world);      \
    late();                   \
    WAITS(name, __VA_ARGS__); \
  } while (0)

static void point_to_point(void) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Message message;
  int index, count, indices[2], out = 1, in;
#define RECEIVES(before, name, ...)                       \
  PMPI_Barrier(world);                                    \
  late();                                                 \
  if (rank == 0) MPI_Send(&out, 1, MPI_INT, 1, 0, world); \
  if (rank == 1) {                                        \
    before;                                               \
    WAITS(name, __VA_ARGS__);                             \
  }
#define POSTED MPI_Irecv(&in, 1, MPI_INT, 0, 0, world, &requests[0])
  requests[1] = MPI_REQUEST_NULL;
  RECEIVES((void)0, Recv, &in, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE)
  RECEIVES((void)0, Probe, 0, 0, world, MPI_STATUS_IGNORE)
  if (rank == 1) MPI_Recv(&in, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
  RECEIVES((void)0, Mprobe, 0, 0, world, &message, MPI_STATUS_IGNORE)
  if (rank == 1) MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  RECEIVES(POSTED, Wait, &requests[0], MPI_STATUS_IGNORE)
  RECEIVES(POSTED, Waitall, 2, requests, statuses)
  RECEIVES(POSTED, Waitany, 2, requests, &index, MPI_STATUS_IGNORE)
  RECEIVES(POSTED, Waitsome, 2, requests, &count, indices, statuses)

  PMPI_Barrier(world);
  late();
  if (rank == 1) WAITS(Ssend, data, kBig, MPI_INT, 0, 0, world);
  if (rank == 0) MPI_Recv(data, kBig, MPI_INT, 1, 0, world, MPI_STATUS_IGNORE);
  TOGETHER(Sendrecv, &out, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0, world, MPI_STATUS_IGNORE);

  MPI_Request persistent;
  if (rank == 1) MPI_Recv_init(&in, 1, MPI_INT, 0, 0, world, &persistent);
  RECEIVES(MPI_Start(&persistent), Wait, &persistent, MPI_STATUS_IGNORE)
  if (rank == 1) MPI_Request_free(&persistent);
}

/* Rank 1 waits in a loop of calls that return at once. */
static void polling(void) {
  int done = 0, in, out = 1;
  MPI_Request request;
  PMPI_Barrier(world);
  if (rank == 0) usleep(kLatePolls);
  if (rank == 0) MPI_Send(&out, 1, MPI_INT, 1, 0, world);
  if (rank == 1) {
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, world, &request);
    const double enter = MPI_Wtime();
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    printf("Test %.6f\n", MPI_Wtime() - enter);
  }
  PMPI_Barrier(world);
  if (rank == 0) usleep(kLatePolls);
  if (rank == 0) MPI_Send(&out, 1, MPI_INT, 1, 0, world);
  if (rank == 1) {
    const double enter = MPI_Wtime();
    for (done = 0; !done;) MPI_Iprobe(0, 0, world, &done, MPI_STATUS_IGNORE);
    printf("Iprobe %.6f\n", MPI_Wtime() - enter);
    MPI_Recv(&in, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
  }
}

static void collectives(void) {
  int out[2] = {1, 1}, in[2];
  MPI_Request request;
  TOGETHER(Barrier, world);
  TOGETHER(Bcast, out, 1, MPI_INT, 0, world);
  TOGETHER(Scatter, out, 1, MPI_INT, in, 1, MPI_INT, 0, world);
  TOGETHER(Gather, out, 1, MPI_INT, in, 1, MPI_INT, 1, world);
  TOGETHER(Reduce, out, in, 1, MPI_INT, MPI_SUM, 1, world);
  TOGETHER(Allreduce, out, in, 1, MPI_INT, MPI_SUM, world);
  TOGETHER(Allgather, out, 1, MPI_INT, in, 1, MPI_INT, world);
  TOGETHER(Alltoall, out, 1, MPI_INT, in, 1, MPI_INT, world);
  TOGETHER(Reduce_scatter_block, out, in, 1, MPI_INT, MPI_SUM, world);
  TOGETHER(Scan, out, in, 1, MPI_INT, MPI_SUM, world);
  PMPI_Barrier(world);
  late();
  MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, world, &request);
  WAITS(Wait, &request, MPI_STATUS_IGNORE);
}

static void communicators(void) {
  const int dims[1] = {2}, periods[1] = {1};
  int out[2] = {1, 1}, in[2];
  MPI_Comm other;
  TOGETHER(Comm_dup, world, &other);
  MPI_Comm_free(&other);
  TOGETHER(Comm_split, world, 0, rank, &other);
  MPI_Comm_free(&other);
  MPI_Cart_create(world, 1, dims, periods, 0, &other);
  TOGETHER(Neighbor_alltoall, out, 1, MPI_INT, in, 1, MPI_INT, other);
  MPI_Comm_free(&other);
}

static void one_sided(void) {
  MPI_Win window;
  MPI_Group all, peer;
  const int other = 1 - rank;
  MPI_Comm_group(world, &all);
  MPI_Group_incl(all, 1, &other, &peer);
  TOGETHER(Win_create, data, kBig * sizeof *data, sizeof *data, MPI_INFO_NULL, world, &window);
  TOGETHER(Win_fence, 0, window);
  if (rank == 1) MPI_Put(data, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);

  /* Rank 1's target is late; libraries wait in either call. */
  PMPI_Barrier(world);
  late();
  if (rank == 0) {
    MPI_Win_post(peer, 0, window);
    MPI_Win_wait(window);
  } else {
    const double enter = MPI_Wtime();
    MPI_Win_start(peer, 0, window);
    MPI_Put(data, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_complete(window);
    printf("Win_start|Win_complete %.6f\n", MPI_Wtime() - enter);
  }
  /* Rank 1's origin is late. */
  PMPI_Barrier(world);
  if (rank == 1) {
    MPI_Win_post(peer, 0, window);
    WAITS(Win_wait, window);
  } else {
    MPI_Win_start(peer, 0, window);
    late();
    MPI_Put(data, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    MPI_Win_complete(window);
  }
  /* Rank 0 holds the lock; libraries wait in any of the calls. */
  PMPI_Barrier(world);
  if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  PMPI_Barrier(world);
  if (rank == 0) {
    late();
    MPI_Win_unlock(0, window);
  } else {
    const double enter = MPI_Wtime();
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Put(data, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    MPI_Win_unlock(0, window);
    printf("Win_lock|Win_flush|Win_unlock %.6f\n", MPI_Wtime() - enter);
  }
  TOGETHER(Win_free, &window);
  MPI_Group_free(&peer);
  MPI_Group_free(&all);
}

static void files(const char* name) {
  MPI_File file;
  TOGETHER(File_open, world, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
           &file);
  MPI_File_write_at(file, (MPI_Offset)rank * 4096, data, 1024, MPI_INT, MPI_STATUS_IGNORE);
  TOGETHER(File_sync, file);
  TOGETHER(File_close, &file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  data = calloc(kBig, sizeof *data);
  point_to_point();
  polling();
  collectives();
  communicators();
  one_sided();
  if (argc > 1) files(argv[1]);
  fflush(stdout);
  MPI_Finalize();
  free(data);
  return 0;
}
