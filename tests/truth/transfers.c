/* Truth: calls that move many bytes between ranks that come on time, and the same with one rank late, by kind
 * of operation. Ranks come on time by agreeing on an instant and starting at it, each by its own clock; on a
 * machine with fewer processors than ranks, some lose theirs all the same, and the log tells. */
#include "truth_program.h"

#include <sched.h>
#include <time.h>

enum { kLarge = 16 << 20, kPut = 2 << 20, kRows = 2000, kColumns = 1000, WINDOW = 1, RING = 3 };
static char *mine, *others;
static double* matrix;
static MPI_Datatype scattered; /* every other number of every row */
static MPI_Win window;
static MPI_Comm ring;
static MPI_File file;
static int operation, turn, partner;

/* Who is late changes from call to call. */
static void be_late(void) {
  if (rank == ++turn % ranks) truth_sleep(delay);
}

/* All ranks leave this at one instant, as far as there are processors. */
static void meet(void) {
  const long long second = 1000000000, ahead = 1000000, spin = 100000; /* ns */
  long long now = truth_now(), latest;
  MPI_Allreduce(&now, &latest, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  latest += ahead * ranks;
  const struct timespec until = {(latest - spin) / second, (latest - spin) % second};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
  }
  while (truth_now() < latest) sched_yield();
}

#define ON_TIME_AND_LATE(name, ...) \
  SCENARIO name(void) {             \
    meet();                         \
    __VA_ARGS__                     \
  }                                 \
  SCENARIO late_##name(void) {      \
    meet();                         \
    be_late();                      \
    __VA_ARGS__                     \
  }

/* -- Messages */

ON_TIME_AND_LATE(exchange, CALL(MPI_Sendrecv, mine, kLarge, MPI_CHAR, partner, 1, others, kLarge, MPI_CHAR,
                                partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                 truth_sends(0, partner, 1, WORLD, kLarge, TRUTH_STANDARD);
                 truth_receives(0, partner, 1, WORLD, kLarge);)

ON_TIME_AND_LATE(
    send_receive,
    if (rank % 2 == 0) {
      CALL(MPI_Send, mine, kLarge, MPI_CHAR, partner, 2, MPI_COMM_WORLD);
      truth_sends(0, partner, 2, WORLD, kLarge, TRUTH_STANDARD);
    } else {
      CALL(MPI_Recv, others, kLarge, MPI_CHAR, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      truth_receives(0, partner, 2, WORLD, kLarge);
    })

ON_TIME_AND_LATE(packed, CALL(MPI_Sendrecv, matrix, 1, scattered, partner, 3, matrix + 1, 1, scattered,
                              partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                 truth_sends(0, partner, 3, WORLD, kRows* kColumns / 2 * (int)sizeof *matrix, TRUTH_STANDARD);
                 truth_receives(0, partner, 3, WORLD, kRows* kColumns / 2 * (int)sizeof *matrix);)

static void start_both(int tag, MPI_Request* requests, const char* label) {
  truth_enter("MPI_Irecv", label);
  MPI_Irecv(others, kLarge, MPI_CHAR, partner, tag, MPI_COMM_WORLD, &requests[0]);
  truth_exit();
  truth_receives(++operation, partner, tag, WORLD, kLarge);
  truth_enter("MPI_Isend", label);
  MPI_Isend(mine, kLarge, MPI_CHAR, partner, tag, MPI_COMM_WORLD, &requests[1]);
  truth_exit();
  truth_sends(++operation, partner, tag, WORLD, kLarge, TRUTH_STANDARD);
}

static void both_complete(void) {
  truth_completes(operation - 1);
  truth_completes(operation);
}

ON_TIME_AND_LATE(waitall, MPI_Request requests[2]; start_both(4, requests, __func__);
                 CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE); both_complete();)

/* A loop of polls stands for one call. */
ON_TIME_AND_LATE(
    test_loop, MPI_Request requests[2]; int done = 0; int calls = 0; long long first = 0;
    start_both(5, requests, __func__); truth_enter("MPI_Testall", __func__); for (; !done; ++calls) {
      MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
      if (first == 0) first = truth_now();
    } truth_exit();
    both_complete(); truth_polls(calls, first);)

/* -- Collectives */

ON_TIME_AND_LATE(bcast, CALL(MPI_Bcast, others, kLarge, MPI_CHAR, 0, MPI_COMM_WORLD);
                 truth_collective(TRUTH_BCAST, WORLD, 0, 0);)

ON_TIME_AND_LATE(reduce, CALL(MPI_Reduce, mine, others, kLarge / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, 0,
                              MPI_COMM_WORLD);
                 truth_collective(TRUTH_REDUCE, WORLD, 0, 0);)

ON_TIME_AND_LATE(allreduce, CALL(MPI_Allreduce, mine, others, kLarge / (int)sizeof(double), MPI_DOUBLE,
                                 MPI_SUM, MPI_COMM_WORLD);
                 truth_collective(TRUTH_NXN, WORLD, 0, 0);)

ON_TIME_AND_LATE(alltoall, CALL(MPI_Alltoall, mine, kLarge / ranks, MPI_CHAR, others, kLarge / ranks,
                                MPI_CHAR, MPI_COMM_WORLD);
                 truth_collective(TRUTH_NXN, WORLD, 0, 0);)

ON_TIME_AND_LATE(iallreduce, MPI_Request request;
                 CALL(MPI_Iallreduce, mine, others, kLarge / (int)sizeof(double), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD, &request);
                 truth_collective(TRUTH_NXN, WORLD, 0, ++operation);
                 CALL(MPI_Wait, &request, MPI_STATUS_IGNORE); truth_completes(operation);)

/* With both neighbours in a ring, which two ranks are twice. */
static void exchanged_with(int neighbor) {
  truth_sends(0, neighbor, 6, WORLD, kLarge / 2, TRUTH_STANDARD);
  truth_receives(0, neighbor, 6, WORLD, kLarge / 2);
}
ON_TIME_AND_LATE(neighbors,
                 CALL(MPI_Neighbor_alltoall, mine, kLarge / 2, MPI_CHAR, others, kLarge / 2, MPI_CHAR, ring);
                 exchanged_with((rank + ranks - 1) % ranks); exchanged_with((rank + 1) % ranks);)

/* -- Windows and files */

ON_TIME_AND_LATE(put_fence, CALL(MPI_Put, mine, kPut, MPI_CHAR, partner, 0, kPut, MPI_CHAR, window);
                 truth_rma(WINDOW, partner, kPut); CALL(MPI_Win_fence, 0, window); truth_fence(WINDOW);)

ON_TIME_AND_LATE(write_file, CALL(MPI_File_write_at_all, file, (MPI_Offset)rank* kLarge, mine, kLarge,
                                  MPI_CHAR, MPI_STATUS_IGNORE);
                 truth_collective(TRUTH_BARRIER, RING, 0, 0);)

static void make_ring(void) {
  const int all[1] = {ranks}, periodic[1] = {1};
  MPI_Cart_create(MPI_COMM_WORLD, 1, all, periodic, 0, &ring);
  int members[256];
  for (int i = 0; i < ranks; ++i) members[i] = i;
  truth_communicator(RING, ranks, members); /* what orders the file's calls in the log */
}

static void make_window(void) {
  char* memory;
  CALL(MPI_Win_allocate, kPut, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  truth_collective(TRUTH_CREATE, WORLD, 0, 0);
  truth_window(WINDOW, WORLD);
  memset(memory, 1, kPut);
  CALL(MPI_Win_fence, 0, window);
  truth_fence(WINDOW);
}

static void open_file(const char* directory) {
  char name[4096];
  snprintf(name, sizeof name, "%s/transfers.data", directory);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
}

#define RUN_BOTH(name) \
  RUN(name);           \
  RUN(late_##name)

static void run_all(void) {
  RUN_BOTH(exchange);
  RUN_BOTH(send_receive);
  RUN_BOTH(packed);
  RUN_BOTH(waitall);
  RUN_BOTH(test_loop);
  RUN_BOTH(bcast);
  RUN_BOTH(reduce);
  RUN_BOTH(allreduce);
  RUN_BOTH(alltoall);
  RUN_BOTH(iallreduce);
  RUN_BOTH(neighbors);
  RUN_BOTH(put_fence);
  RUN_BOTH(write_file);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv, 2);
  if (ranks % 2 != 0 || ranks > 256) MPI_Abort(MPI_COMM_WORLD, 2); /* pairs */
  partner = rank ^ 1;
  mine = malloc(kLarge);
  others = malloc(kLarge);
  matrix = malloc(((size_t)kRows * kColumns + 1) * sizeof *matrix);
  if (!mine || !others || !matrix) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(mine, 0, kLarge); /* touched before the transfers, not by them */
  memset(others, 0, kLarge);
  memset(matrix, 0, ((size_t)kRows * kColumns + 1) * sizeof *matrix);
  MPI_Datatype row;
  MPI_Type_vector(kColumns / 2, 1, 2, MPI_DOUBLE, &row);
  MPI_Type_create_hvector(kRows, 1, kColumns * (int)sizeof(double), row, &scattered);
  MPI_Type_commit(&scattered);
  make_ring();
  make_window();
  open_file(argc > 1 ? argv[1] : ".");
  run_all();
  MPI_File_close(&file);
  CALL(MPI_Win_free, &window);
  truth_collective(TRUTH_FREE, WORLD, 0, 0);
  MPI_Comm_free(&ring);
  MPI_Type_free(&scattered);
  MPI_Type_free(&row);
  return truth_end();
}
