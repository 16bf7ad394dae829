// Moves known amounts by each kind of call: messages around a ring of all ranks and between pairs of them,
// one-sided operations, and collectives. test_communication.py knows how much that is.
#include <mpi.h>
#include <stdlib.h>

enum { kMessages = 20, kBytes = 1000, kPairBytes = 64, kPut = 4096, kGet = 512, kReduced = 10 };

static void around_the_ring(int rank, int ranks, char* out, char* in) {
  for (int message = 0; message < kMessages; ++message) {
    MPI_Request requests[2];
    MPI_Irecv(in, kBytes * 2, MPI_CHAR, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, kBytes * (1 + message % 2), MPI_CHAR, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
}

/// Rank 0 with 1, 2 with 3, in communicators of their own, whose ranks are the other way round.
static void in_pairs(int rank, char* out, char* in) {
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &pair);
  MPI_Comm_set_name(pair, "pair\nof ranks");
  int own;
  MPI_Comm_rank(pair, &own);
  MPI_Sendrecv(out, kPairBytes, MPI_CHAR, 1 - own, 1, in, kPairBytes, MPI_CHAR, 1 - own, 1, pair,
               MPI_STATUS_IGNORE);
  MPI_Send(out, 1, MPI_CHAR, MPI_PROC_NULL, 0, pair);
  MPI_Comm_free(&pair);
}

static void one_sided(int rank, char* out, char* in, char* exposed) {
  MPI_Win window;
  MPI_Win_create(exposed, kPut, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_name(window, "exposed");
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Put(out, kPut, MPI_CHAR, 1, 0, kPut, MPI_CHAR, window);
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Get(in, kGet, MPI_CHAR, 1, 0, kGet, MPI_CHAR, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char *out = calloc(kPut, 1), *in = calloc(kPut, 1), *exposed = calloc(kPut, 1);
  around_the_ring(rank, ranks, out, in);
  in_pairs(rank, out, in);
  one_sided(rank, out, in, exposed);
  double sum[kReduced], part[kReduced] = {0};
  MPI_Allreduce(part, sum, kReduced, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  // So that there are samples.
  for (const double end = MPI_Wtime() + 0.2; MPI_Wtime() < end;) continue;
  MPI_Finalize();
}
