/* Truth: programs whose gain from a known change is known by making it. Each scenario has one change, which
 * the argument `changed` makes: code is removed, twice as fast, or evened out over the ranks. What is
 * measured without it, replayed with the change, must come out as the run with it.
 *
 *   barrier      rank 0 has extra() more: removed
 *   uneven       uneven() is longer on rank 0: balanced
 *   moves        the same, but once it is balanced, rank 3, which has other() to do, comes last
 *   alternating  uneven() is longer on one rank after the other: even in each iteration
 *   chain        rank 0's produce() delays rank 1, and that rank 2: twice as fast
 *   overlap      produce() takes longer than the work between MPI_Irecv and MPI_Wait: twice as fast
 *   rendezvous   a large MPI_Send waits until consume() is over, and its receiver posts: removed
 *   broadcast    the root's produce() comes first: twice as fast
 *   reduction    the root waits for rank 2's extra(): removed
 *   fences       rank 1's extra() before a fence: removed
 *   epochs       a target's produce() before MPI_Win_post: twice as fast
 *
 * Work is sleep; ranks that wait nap (patience.h), and so may have a real-time priority: they keep their
 * times on a machine that is busy with other things. Usage: what_if LOGDIR REPETITIONS DELAY SCENARIO
 * [changed]; four ranks */
#define _GNU_SOURCE /* SCHED_RESET_ON_FORK */
#include "scenarios/patience.h"
#include "truth_program.h"

#include <sys/prctl.h>

enum { WINDOW = 1, LARGE = 1 << 20 };
static int changed;
static char* large;
static MPI_Win window;
static int* memory;

#define WORKS(name)                                      \
  static __attribute__((noinline)) void name(double d) { \
    if (d > 0) CALL(truth_sleep, d* delay);              \
    __asm__ volatile("");                                \
  }
WORKS(common)
WORKS(extra)
WORKS(uneven)
WORKS(other)
WORKS(produce)
WORKS(consume)

static void send_to(int destination) {
  const int word = rank;
  CALL(MPI_Send, &word, 1, MPI_INT, destination, 1, MPI_COMM_WORLD);
  truth_sends(0, destination, 1, WORLD, sizeof word, TRUTH_EAGER);
}

static void receive_from(int source) {
  int word;
  CALL(MPI_Recv, &word, 1, MPI_INT, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  truth_receives(0, source, 1, WORLD, sizeof word);
}

SCENARIO barrier(void) {
  common(2);
  extra(rank == 0 && !changed ? 2 : 0);
  other(0.5);
}

SCENARIO uneven_ranks(void) {
  common(1);
  uneven(changed ? 2 : rank == 0 ? 5 : 1);
}

SCENARIO moves(void) {
  uneven(changed ? 2 : rank == 0 ? 5 : 1);
  other(rank == 3 ? 2 : 0.5);
}

static int turn;
SCENARIO alternating(void) {
  common(1);
  uneven(changed ? 2 : rank == turn % 4 ? 5 : 1);
  ++turn;
}

SCENARIO chain(void) {
  if (rank == 0) {
    produce(changed ? 2 : 4);
    send_to(1);
  } else if (rank == 1) {
    common(1);
    receive_from(0);
    other(1);
    send_to(2);
  } else if (rank == 2) {
    common(1);
    receive_from(1);
    other(1);
  }
}

SCENARIO overlap(void) {
  static int operations;
  int word = rank;
  MPI_Request request;
  ++operations;
  if (rank == 0) {
    produce(changed ? 2 : 4);
    CALL(MPI_Isend, &word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    truth_sends(operations, 1, 1, WORLD, sizeof word, TRUTH_EAGER);
    other(0.5);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    truth_completes(operations);
  } else if (rank == 1) {
    CALL(MPI_Irecv, &word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    truth_receives(operations, 0, 1, WORLD, sizeof word);
    common(2.5);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    truth_completes(operations);
    other(1);
  }
}

SCENARIO rendezvous(void) {
  if (rank == 0) {
    common(1);
    CALL(MPI_Send, large, LARGE, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    truth_sends(0, 1, 1, WORLD, LARGE, TRUTH_SYNCHRONOUS);
    other(1);
  } else if (rank == 1) {
    consume(changed ? 0 : 3);
    CALL(MPI_Recv, large, LARGE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    truth_receives(0, 0, 1, WORLD, LARGE);
  }
}

SCENARIO broadcast(void) {
  int word = rank;
  if (rank == 0) produce(changed ? 2 : 4);
  common(1);
  CALL(MPI_Bcast, &word, 1, MPI_INT, 0, MPI_COMM_WORLD);
  truth_collective(TRUTH_BCAST, WORLD, 0, 0);
  other(1);
}

SCENARIO reduction(void) {
  int word = rank, sum;
  common(rank == 1 ? 2 : 1);
  extra(rank == 2 && !changed ? 3 : 0);
  CALL(MPI_Reduce, &word, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  truth_collective(TRUTH_REDUCE, WORLD, 0, 0);
  other(rank == 0 ? 1 : 0.5);
}

SCENARIO fences(void) {
  const int word = rank;
  CALL(MPI_Win_fence, 0, window);
  truth_fence(WINDOW);
  common(1);
  extra(rank == 1 && !changed ? 3 : 0);
  CALL(MPI_Put, &word, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window);
  truth_rma(WINDOW, (rank + 1) % ranks, sizeof word);
  CALL(MPI_Win_fence, 0, window);
  truth_fence(WINDOW);
}

static void expose_to(int origin, MPI_Group group) {
  produce(changed ? 2 : 4);
  CALL(MPI_Win_post, group, 0, window);
  truth_post(WINDOW, origin);
  CALL(MPI_Win_wait, window);
  truth_wait(WINDOW);
}

static void access_at(int target, MPI_Group group) {
  const int word = rank;
  common(1);
  CALL(MPI_Win_start, group, 0, window);
  truth_start(WINDOW, target);
  CALL(MPI_Put, &word, 1, MPI_INT, target, 0, 1, MPI_INT, window);
  truth_rma(WINDOW, target, sizeof word);
  CALL(MPI_Win_complete, window);
  truth_complete(WINDOW);
  other(1);
}

SCENARIO epochs(void) {
  if (rank > 1) return;
  MPI_Group everyone, group;
  const int partner = 1 - rank;
  MPI_Comm_group(MPI_COMM_WORLD, &everyone);
  MPI_Group_incl(everyone, 1, &partner, &group);
  if (rank == 0) {
    expose_to(partner, group);
  } else {
    access_at(partner, group);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&everyone);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv, 4);
  changed = argc > 5;
  prctl(PR_SET_TIMERSLACK, 1000UL); /* sleeps end on time */
  be_urgent();
  large = calloc(LARGE, 1);
  CALL(MPI_Win_allocate, sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  truth_collective(TRUTH_CREATE, WORLD, 0, 0);
  truth_window(WINDOW, WORLD);
  RUN(barrier);
  RUN(uneven_ranks);
  RUN(moves);
  RUN(alternating);
  RUN(chain);
  RUN(overlap);
  RUN(rendezvous);
  RUN(broadcast);
  RUN(reduction);
  RUN(fences);
  RUN(epochs);
  align();
  CALL(MPI_Win_free, &window);
  truth_collective(TRUTH_FREE, WORLD, 0, 0);
  free(large);
  return truth_end();
}
