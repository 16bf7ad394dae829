/* Truth: the waits of collective calls, and of MPI_Init and MPI_Finalize. A late rank sleeps; who is late
 * changes from call to call. */
#include "truth_program.h"

enum { HALF = 1 }; /* the log's number of the communicator of even ranks; of odd ranks: one more */
static MPI_Comm half;
static int operation, turn;

static int late(void) {
  return rank == turn % ranks;
}
/* Sleeps on the late rank, after the others have begun to wait. */
static void be_late(void) {
  ++turn;
  if (late()) truth_sleep(delay);
}

SCENARIO barrier(void) {
  be_late();
  CALL(MPI_Barrier, MPI_COMM_WORLD);
  truth_collective(TRUTH_BARRIER, WORLD, 0, 0);
}

SCENARIO allreduce(void) {
  int mine = rank, sum;
  be_late();
  CALL(MPI_Allreduce, &mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  truth_collective(TRUTH_NXN, WORLD, 0, 0);
}

SCENARIO alltoall(void) {
  int mine[64] = {0}, others[64];
  be_late();
  CALL(MPI_Alltoall, mine, 1, MPI_INT, others, 1, MPI_INT, MPI_COMM_WORLD);
  truth_collective(TRUTH_NXN, WORLD, 0, 0);
}

SCENARIO allgather(void) {
  int others[64];
  be_late();
  CALL(MPI_Allgather, &rank, 1, MPI_INT, others, 1, MPI_INT, MPI_COMM_WORLD);
  truth_collective(TRUTH_NXN, WORLD, 0, 0);
}

/* The root is late: everyone else waits. */
SCENARIO late_broadcast(void) {
  int word = 0;
  const int root = ++turn % ranks;
  if (rank == root) truth_sleep(delay);
  CALL(MPI_Bcast, &word, 1, MPI_INT, root, MPI_COMM_WORLD);
  truth_collective(TRUTH_BCAST, WORLD, root, 0);
}

SCENARIO late_scatter(void) {
  int words[64] = {0}, word;
  const int root = ++turn % ranks;
  if (rank == root) truth_sleep(delay);
  CALL(MPI_Scatter, words, 1, MPI_INT, &word, 1, MPI_INT, root, MPI_COMM_WORLD);
  truth_collective(TRUTH_BCAST, WORLD, root, 0);
}

/* The receivers are late for more than is buffered: who is to send it to them has to stay. */
SCENARIO late_receivers(void) {
  static char data[2000000];
  const int root = ++turn % ranks;
  if (rank != root) truth_sleep(delay);
  CALL(MPI_Bcast, data, sizeof data, MPI_CHAR, root, MPI_COMM_WORLD);
  truth_collective(TRUTH_BCAST, WORLD, root, 0);
}

/* The root is early: it waits for the last of the others. */
SCENARIO early_reduce(void) {
  int sum;
  const int root = ++turn % ranks;
  if (rank != root) truth_sleep(delay * (1 + (rank == (root + 1) % ranks)) / 2);
  CALL(MPI_Reduce, &rank, &sum, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  truth_collective(TRUTH_REDUCE, WORLD, root, 0);
}

SCENARIO early_gather(void) {
  int words[64];
  const int root = ++turn % ranks;
  if (rank != root) truth_sleep(delay);
  CALL(MPI_Gather, &rank, 1, MPI_INT, words, 1, MPI_INT, root, MPI_COMM_WORLD);
  truth_collective(TRUTH_REDUCE, WORLD, root, 0);
}

/* Rank 0 is late: all higher ranks need it. */
SCENARIO early_scan(void) {
  int sum;
  if (rank == 0) truth_sleep(delay);
  CALL(MPI_Scan, &rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  truth_collective(TRUTH_SCAN, WORLD, 0, 0);
}

SCENARIO early_exscan(void) {
  int sum;
  if (rank == 0) truth_sleep(delay);
  CALL(MPI_Exscan, &rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  truth_collective(TRUTH_SCAN, WORLD, 0, 0);
}

/* In two communicators at once: the lowest rank of each is late, one later than the other. */
SCENARIO two_communicators(void) {
  int sum;
  if (rank < 2) truth_sleep(delay * (1 + rank) / 2);
  CALL(MPI_Allreduce, &rank, &sum, 1, MPI_INT, MPI_SUM, half);
  truth_collective(TRUTH_NXN, HALF + rank % 2, 0, 0);
}

/* Nonblocking: who waits, waits in MPI_Wait. */
SCENARIO nonblocking_barrier(void) {
  MPI_Request request;
  be_late();
  CALL(MPI_Ibarrier, MPI_COMM_WORLD, &request);
  truth_collective(TRUTH_BARRIER, WORLD, 0, ++operation);
  CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
  truth_completes(operation);
}

SCENARIO nonblocking_allreduce(void) {
  int sum;
  MPI_Request request;
  be_late();
  CALL(MPI_Iallreduce, &rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  truth_collective(TRUTH_NXN, WORLD, 0, ++operation);
  truth_sleep(delay / 4);
  CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
  truth_completes(operation);
}

/* All begin at once, and one computes for longer: the library goes on with several steps only inside calls.
 */
SCENARIO late_return(void) {
  int sum;
  MPI_Request request;
  CALL(MPI_Iallreduce, &rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  truth_collective(TRUTH_NXN, WORLD, 0, ++operation);
  be_late();
  CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
  truth_completes(operation);
}

/* The last word: rank 0 comes to MPI_Finalize later than all others. */
static void be_late_at_the_end(void) {
  align();
  if (rank == 0) truth_sleep(delay);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv, 2);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  int members[64], count = 0;
  for (int r = rank % 2; r < ranks && count < 64; r += 2) members[count++] = r;
  truth_communicator(HALF + rank % 2, count, members);
  RUN(barrier);
  RUN(allreduce);
  RUN(alltoall);
  RUN(allgather);
  RUN(late_broadcast);
  RUN(late_scatter);
  RUN(late_receivers);
  RUN(early_reduce);
  RUN(early_gather);
  RUN(early_scan);
  RUN(early_exscan);
  RUN(two_communicators);
  RUN(nonblocking_barrier);
  RUN(nonblocking_allreduce);
  RUN(late_return);
  MPI_Comm_free(&half);
  be_late_at_the_end();
  return truth_end();
}
