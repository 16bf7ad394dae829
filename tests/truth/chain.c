/* Truth: a delay that travels. On rank 0 `foo` works too long; so rank 1 receives late, works a little longer
 * itself (`own_work`) and opens its window late; so rank 2 waits in its access epoch. Of rank 2's wait, what
 * `foo` caused is long-term, what `own_work` caused is short-term; their proportion is that of the two
 * delays. Rank 0 comes last to the next barrier (`afterwards`), so that it waits for nobody. Ranks beyond 2
 * form further chains of three; those left over only take part in the barriers. */
#include "truth_program.h"

enum { WINDOW = 1 };
static MPI_Win window;
static int* memory;

/* The work's own time is logged too, as a call of that name without facts. */
static __attribute__((noinline)) void foo(void) {
  CALL(truth_sleep, 2 * delay);
  __asm__ volatile("");
}
static __attribute__((noinline)) void own_work(void) {
  CALL(truth_sleep, delay);
  __asm__ volatile("");
}

static __attribute__((noinline)) void afterwards(void) {
  CALL(truth_sleep, 3 * delay);
  __asm__ volatile("");
}

static void first(int next) {
  const int word = 1;
  foo();
  CALL(MPI_Send, &word, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
  truth_sends(0, next, 1, WORLD, sizeof word, TRUTH_EAGER);
  afterwards();
}

static void second(int previous, int next, MPI_Group next_group) {
  int word;
  CALL(MPI_Recv, &word, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  truth_receives(0, previous, 1, WORLD, sizeof word);
  own_work();
  CALL(MPI_Win_post, next_group, 0, window);
  truth_post(WINDOW, next);
  CALL(MPI_Win_wait, window);
  truth_wait(WINDOW);
}

static void third(int previous, MPI_Group previous_group) {
  const int word = 3;
  CALL(MPI_Win_start, previous_group, 0, window);
  truth_start(WINDOW, previous);
  CALL(MPI_Put, &word, 1, MPI_INT, previous, 0, 1, MPI_INT, window);
  truth_rma(WINDOW, previous, sizeof word);
  CALL(MPI_Win_complete, window);
  truth_complete(WINDOW);
}

SCENARIO propagation(void) {
  const int place = rank % 3, begin = rank - place;
  if (begin + 2 >= ranks) return;
  if (place == 0) {
    first(rank + 1);
    return;
  }
  MPI_Group everyone, other;
  const int neighbour = place == 1 ? rank + 1 : rank - 1;
  MPI_Comm_group(MPI_COMM_WORLD, &everyone);
  MPI_Group_incl(everyone, 1, &neighbour, &other);
  if (place == 1) {
    second(rank - 1, rank + 1, other);
  } else {
    third(rank - 1, other);
  }
  MPI_Group_free(&other);
  MPI_Group_free(&everyone);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv, 3);
  CALL(MPI_Win_allocate, sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  truth_collective(TRUTH_CREATE, WORLD, 0, 0);
  truth_window(WINDOW, WORLD);
  RUN(propagation);
  CALL(MPI_Win_free, &window);
  truth_collective(TRUTH_FREE, WORLD, 0, 0);
  return truth_end();
}
