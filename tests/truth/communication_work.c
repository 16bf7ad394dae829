/* Truth: calls that block but do not wait: what they do is communication work. Their time goes into moving
 * bytes, into the program's own reduction operator, or into packing a nasty datatype. A rank that sends to
 * itself cannot wait for anybody: all of that is work. Between two ranks that come on time (each scenario
 * begins with a barrier), what moves the bytes is work, but on a busy machine a partner may lose its
 * processor in the middle. What is work by construction is marked in the log. */
#include "truth_program.h"

enum { kRows = 3000, kColumns = 1000, kLarge = 32 << 20 };
static char *mine, *others;
static double* matrix;
static MPI_Datatype scattered; /* every other number of every row */
static MPI_Op slow_sum;

SCENARIO large_messages(void) {
  const int partner = rank ^ 1;
  if (partner >= ranks) return;
  CALL(MPI_Sendrecv, mine, kLarge, MPI_CHAR, partner, 1, others, kLarge, MPI_CHAR, partner, 1, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
  truth_sends(0, partner, 1, WORLD, kLarge, TRUTH_STANDARD);
  truth_receives(0, partner, 1, WORLD, kLarge);
}

/* The odd ranks come late; what then moves the bytes is work of both. */
SCENARIO late_large_requests(void) {
  const int partner = rank ^ 1;
  if (partner >= ranks) return;
  if (rank % 2 == 1) truth_sleep(delay);
  static int operation;
  MPI_Request requests[2];
  CALL(MPI_Irecv, others, kLarge, MPI_CHAR, partner, 5, MPI_COMM_WORLD, &requests[0]);
  truth_receives(++operation, partner, 5, WORLD, kLarge);
  CALL(MPI_Isend, mine, kLarge, MPI_CHAR, partner, 5, MPI_COMM_WORLD, &requests[1]);
  truth_sends(++operation, partner, 5, WORLD, kLarge, TRUTH_SYNCHRONOUS);
  CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
  truth_completes(operation - 1);
  truth_completes(operation);
}

SCENARIO large_to_itself(void) {
  CALL(MPI_Sendrecv, mine, kLarge, MPI_CHAR, rank, 3, others, kLarge, MPI_CHAR, rank, 3, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
  truth_work();
}

SCENARIO packed_to_itself(void) {
  CALL(MPI_Sendrecv, matrix, 1, scattered, rank, 4, matrix + 1, 1, scattered, rank, 4, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
  truth_work();
}

/* The operator computes for a time that the program logs itself. */
static void slow(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  const int* from = in;
  int* to = inout;
  CALL(truth_compute, delay);
  truth_work();
  for (int i = 0; i < *length; ++i) to[i] += from[i];
}

SCENARIO slow_operator(void) {
  int sum;
  CALL(MPI_Allreduce, &rank, &sum, 1, MPI_INT, slow_sum, MPI_COMM_WORLD);
  truth_collective(TRUTH_NXN, WORLD, 0, 0);
}

SCENARIO packing(void) {
  const int partner = rank ^ 1;
  if (partner >= ranks) return;
  CALL(MPI_Sendrecv, matrix, 1, scattered, partner, 2, matrix + 1, 1, scattered, partner, 2, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
  truth_sends(0, partner, 2, WORLD, kRows * kColumns / 2 * (int)sizeof *matrix, TRUTH_STANDARD);
  truth_receives(0, partner, 2, WORLD, kRows * kColumns / 2 * (int)sizeof *matrix);
}

SCENARIO large_reduction(void) {
  const int count = kLarge / (int)sizeof(double) / 2;
  CALL(MPI_Allreduce, mine, others, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  truth_collective(TRUTH_NXN, WORLD, 0, 0);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv, 2);
  mine = calloc(kLarge, 1);
  others = calloc(kLarge, 1);
  matrix = calloc((size_t)kRows * kColumns + 1, sizeof *matrix);
  if (!mine || !others || !matrix) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(mine, 1, kLarge); /* touched before the messages, not by them */
  memset(others, 1, kLarge);
  memset(matrix, 0, ((size_t)kRows * kColumns + 1) * sizeof *matrix);
  MPI_Datatype row;
  MPI_Type_vector(kColumns / 2, 1, 2, MPI_DOUBLE, &row);
  MPI_Type_create_hvector(kRows, 1, kColumns * (int)sizeof(double), row, &scattered);
  MPI_Type_commit(&scattered);
  MPI_Op_create(slow, 1, &slow_sum);
  RUN(large_messages);
  RUN(late_large_requests);
  RUN(large_to_itself);
  RUN(packed_to_itself);
  RUN(slow_operator);
  RUN(packing);
  RUN(large_reduction);
  MPI_Op_free(&slow_sum);
  MPI_Type_free(&scattered);
  MPI_Type_free(&row);
  return truth_end();
}
