/* Truth: the waits of a program that mixes everything: each of its rounds is of a kind, with partners, roots
 * and delays, drawn by lot, the same ones each time. What one round leaves undone (who is late, what was sent
 * ahead) meets the next. */
#include "truth_program.h"

enum { HALF = 1, BACKWARDS = 3, WINDOW = 4, MOST_RANKS = 64 };
static MPI_Comm half, backwards; /* even or odd ranks; all ranks, from the last to the first */
static MPI_Win window;
static MPI_Group everyone;
static int operation, tag;
static unsigned long long shared = 1, own = 1;

/* By lot, below `limit`: the same on all ranks, and one of this rank's own. */
static int lot(unsigned long long* state, int limit) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (int)((*state >> 33) % (unsigned)limit);
}
static int common(int limit) {
  return lot(&shared, limit);
}

static void be_late_by_lot(void) {
  const int late = lot(&own, 4);
  if (late > 0) truth_sleep(delay * late / 4);
}

/* In `backwards`, of this rank of MPI_COMM_WORLD; and the other way round. */
static int turned(int of) {
  return ranks - 1 - of;
}

static void issend(int to, MPI_Request* request, int* posted) {
  CALL(MPI_Issend, &rank, 1, MPI_INT, turned(to), tag, backwards, request);
  truth_sends(*posted = ++operation, to, tag, BACKWARDS, sizeof rank, TRUTH_SYNCHRONOUS);
}
static void irecv(int from, int* word, MPI_Request* request, int* posted) {
  CALL(MPI_Irecv, word, 1, MPI_INT, turned(from), tag, backwards, request);
  truth_receives(*posted = ++operation, from, tag, BACKWARDS, sizeof *word);
}

/* A ring, as far apart as the lot says, with a collective operation that is to complete in the same call. */
SCENARIO ring(void) {
  const int far = 1 + common(ranks - 1);
  int words[2], sum, posted[3];
  MPI_Request request[3];
  irecv((rank + ranks - far) % ranks, words, &request[0], &posted[0]);
  be_late_by_lot();
  issend((rank + far) % ranks, &request[1], &posted[1]);
  CALL(MPI_Iallreduce, &rank, &sum, 1, MPI_INT, MPI_SUM, half, &request[2]);
  truth_collective(TRUTH_NXN, HALF + rank % 2, 0, posted[2] = ++operation);
  be_late_by_lot();
  CALL(MPI_Waitall, 3, request, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 3; ++i) truth_completes(posted[i]);
}

/* One rank serves all others, who come in any order; they wait for its answer. */
SCENARIO master(void) {
  const int one = common(ranks);
  be_late_by_lot();
  if (rank != one) {
    int word;
    CALL(MPI_Send, &rank, 1, MPI_INT, one, tag, MPI_COMM_WORLD);
    truth_sends(0, one, tag, WORLD, sizeof rank, TRUTH_EAGER);
    CALL(MPI_Recv, &word, 1, MPI_INT, turned(one), tag, backwards, MPI_STATUS_IGNORE);
    truth_receives(0, one, tag, BACKWARDS, sizeof word);
    return;
  }
  for (int i = 1; i < ranks; ++i) {
    int word;
    MPI_Status status;
    CALL(MPI_Recv, &word, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    truth_receives(0, status.MPI_SOURCE, tag, WORLD, sizeof word);
    CALL(MPI_Send, &word, 1, MPI_INT, turned(status.MPI_SOURCE), tag, backwards);
    truth_sends(0, status.MPI_SOURCE, tag, BACKWARDS, sizeof word, TRUTH_EAGER);
  }
}

/* One rank takes from all others what is there first. */
SCENARIO first_come(void) {
  const int one = common(ranks);
  be_late_by_lot();
  if (rank != one) {
    CALL(MPI_Send, &rank, 1, MPI_INT, turned(one), tag, backwards);
    truth_sends(0, one, tag, BACKWARDS, sizeof rank, TRUTH_EAGER);
    return;
  }
  int words[MOST_RANKS], posted[MOST_RANKS], count = 0;
  MPI_Request request[MOST_RANKS];
  for (int r = 0; r < ranks; ++r) {
    if (r == one) continue;
    irecv(r, &words[count], &request[count], &posted[count]);
    ++count;
  }
  for (int i = 0; i < count; ++i) {
    int index;
    CALL(MPI_Waitany, count, request, &index, MPI_STATUS_IGNORE);
    truth_completes(posted[index]);
    if (i % 2 == 0) be_late_by_lot();
  }
}

SCENARIO collectives(void) {
  int words[MOST_RANKS] = {0}, word = rank;
  const int kind = common(5), root = common(ranks);
  be_late_by_lot();
  switch (kind) {
    case 0:
      CALL(MPI_Bcast, &word, 1, MPI_INT, turned(root), backwards);
      truth_collective(TRUTH_BCAST, BACKWARDS, root, 0);
      break;
    case 1:
      CALL(MPI_Gather, &word, 1, MPI_INT, words, 1, MPI_INT, root, MPI_COMM_WORLD);
      truth_collective(TRUTH_REDUCE, WORLD, root, 0);
      break;
    case 2:
      CALL(MPI_Scan, &word, words, 1, MPI_INT, MPI_SUM, backwards);
      truth_collective(TRUTH_SCAN, BACKWARDS, 0, 0);
      break;
    case 3:
      CALL(MPI_Allgather, &word, 1, MPI_INT, words, 1, MPI_INT, half);
      truth_collective(TRUTH_NXN, HALF + rank % 2, 0, 0);
      break;
    default:
      CALL(MPI_Barrier, backwards);
      truth_collective(TRUTH_BARRIER, BACKWARDS, 0, 0);
  }
}

/* One target, and origins by lot; the others go on. */
SCENARIO epoch(void) {
  const int target = common(ranks);
  int origins[MOST_RANKS], count = 0, is_origin = 0;
  for (int r = 0; r < ranks; ++r) {
    if (r == target || (common(3) == 0 && count > 0)) continue;
    origins[count++] = r;
    if (r == rank) is_origin = 1;
  }
  MPI_Group group;
  be_late_by_lot();
  if (rank == target) {
    MPI_Group_incl(everyone, count, origins, &group);
    CALL(MPI_Win_post, group, 0, window);
    for (int i = 0; i < count; ++i) truth_post(WINDOW, origins[i]);
    be_late_by_lot();
    CALL(MPI_Win_wait, window);
    truth_wait(WINDOW);
    MPI_Group_free(&group);
  } else if (is_origin) {
    MPI_Group_incl(everyone, 1, &target, &group);
    CALL(MPI_Win_start, group, 0, window);
    truth_start(WINDOW, target);
    be_late_by_lot();
    CALL(MPI_Put, &rank, 1, MPI_INT, target, rank, 1, MPI_INT, window);
    truth_rma(WINDOW, target, sizeof rank);
    be_late_by_lot();
    CALL(MPI_Win_complete, window);
    truth_complete(WINDOW);
    MPI_Group_free(&group);
  }
}

SCENARIO fences(void) {
  be_late_by_lot();
  CALL(MPI_Win_fence, MPI_MODE_NOPRECEDE, window);
  truth_fence(WINDOW);
  be_late_by_lot();
  const int target = (rank + 1 + lot(&own, ranks - 1)) % ranks;
  CALL(MPI_Put, &rank, 1, MPI_INT, target, rank, 1, MPI_INT, window);
  truth_rma(WINDOW, target, sizeof rank);
  be_late_by_lot();
  CALL(MPI_Win_fence, MPI_MODE_NOSUCCEED, window);
  truth_fence(WINDOW);
}

/* Both at once, with the rank across. */
SCENARIO swap(void) {
  const int across = turned(rank);
  int word;
  be_late_by_lot();
  if (across == rank) return;
  CALL(MPI_Sendrecv, &rank, 1, MPI_INT, across, tag, &word, 1, MPI_INT, across, tag, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
  truth_sends(0, across, tag, WORLD, sizeof rank, TRUTH_EAGER);
  truth_receives(0, across, tag, WORLD, sizeof word);
}

int main(int argc, char** argv) {
  static void (*const kinds[])(void) = {ring, master, first_come, collectives, epoch, fences, swap};
  enum { KINDS = sizeof kinds / sizeof *kinds };
  truth_begin(argc, argv, 2);
  own = (unsigned)rank + 17;
  MPI_Comm_split(MPI_COMM_WORLD, 0, turned(rank), &backwards);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  int members[MOST_RANKS], count = 0;
  for (int r = rank % 2; r < ranks && count < MOST_RANKS; r += 2) members[count++] = r;
  truth_communicator(HALF + rank % 2, count, members);
  for (count = 0; count < ranks && count < MOST_RANKS; ++count) members[count] = turned(count);
  truth_communicator(BACKWARDS, count, members);
  MPI_Comm_group(MPI_COMM_WORLD, &everyone);
  int* memory;
  CALL(MPI_Win_allocate, MOST_RANKS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
       &window);
  truth_window(WINDOW, WORLD);
  truth_collective(TRUTH_CREATE, WORLD, 0, 0);
  align();
  scenarios_run = 1;
  for (int round = 0; round < 20 * repetitions; ++round) {
    ++tag;
    kinds[common(KINDS)]();
  }
  align();
  CALL(MPI_Win_free, &window);
  truth_collective(TRUTH_FREE, WORLD, 0, 0);
  return truth_end();
}
