/* Truth: the waits of one-sided communication with passive targets. The last rank holds the memory. */
#include "truth_program.h"

enum { WINDOW = 1, OTHERS }; /* the log's numbers of the window, and of those of each kind */
static MPI_Win window;
static int number = WINDOW;
static int* memory;
static int target;
static MPI_Aint place; /* in the target's memory */

static void lock(int kind) {
  CALL(MPI_Win_lock, kind, target, 0, window);
  truth_lock(number, target, kind == MPI_LOCK_EXCLUSIVE);
}
static void unlock(void) {
  CALL(MPI_Win_unlock, target, window);
  truth_unlock(number, target);
}
static void add(void) {
  const int one = 1;
  CALL(MPI_Accumulate, &one, 1, MPI_INT, target, place, 1, MPI_INT, MPI_SUM, window);
  truth_rma(number, target, sizeof one);
}
static void flush(void) {
  CALL(MPI_Win_flush, target, window);
}

/* Rank 0 holds the lock for a while. However lazily the library acquires it: after the flush it is held, and
 * the others come only then. */
static void hold_first(void) {
  lock(MPI_LOCK_EXCLUSIVE);
  add();
  flush();
  align();
  truth_sleep(delay);
  unlock();
}

/* Each of the others waits for those before it. */
SCENARIO lock_wait(void) {
  if (rank == 0) {
    hold_first();
    return;
  }
  align();
  lock(MPI_LOCK_EXCLUSIVE);
  add();
  flush();
  unlock();
}

/* Shared locks exclude nobody but the exclusive one of rank 0. */
SCENARIO shared_lock_wait(void) {
  if (rank == 0) {
    hold_first();
    return;
  }
  align();
  lock(MPI_LOCK_SHARED);
  add();
  flush();
  truth_sleep(delay / 4);
  unlock();
}

/* So are locks to all. */
SCENARIO lock_all_wait(void) {
  if (rank == 0) {
    hold_first();
    return;
  }
  align();
  CALL(MPI_Win_lock_all, 0, window);
  truth_lock(number, target, 0);
  add();
  CALL(MPI_Win_flush_all, window);
  add();
  CALL(MPI_Win_unlock_all, window);
  truth_unlock(number, target);
}

/* Everyone has access all the time: nobody waits for anybody. */
SCENARIO lock_all(void) {
  CALL(MPI_Win_lock_all, 0, window);
  add();
  CALL(MPI_Win_flush_local, target, window);
  truth_sleep(delay / 4);
  CALL(MPI_Win_flush_all, window);
  CALL(MPI_Win_unlock_all, window);
}

/* Operations with requests, under locks that exclude nobody. */
SCENARIO requests(void) {
  int one = 1, seen[3];
  MPI_Request request[4];
  MPI_Status status[4];
  lock(MPI_LOCK_SHARED);
  CALL(MPI_Rput, &one, 1, MPI_INT, target, 1 + rank, 1, MPI_INT, window, &request[0]);
  truth_rma(WINDOW, target, sizeof one);
  CALL(MPI_Rget, &seen[0], 1, MPI_INT, target, 0, 1, MPI_INT, window, &request[1]);
  truth_rma(WINDOW, target, sizeof one);
  CALL(MPI_Raccumulate, &one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, window, &request[2]);
  truth_rma(WINDOW, target, sizeof one);
  CALL(MPI_Rget_accumulate, &one, 1, MPI_INT, &seen[1], 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, window,
       &request[3]);
  truth_rma(WINDOW, target, sizeof one);
  CALL(MPI_Waitall, 4, request, status);
  CALL(MPI_Fetch_and_op, &one, &seen[2], MPI_INT, target, 0, MPI_SUM, window);
  truth_rma(WINDOW, target, sizeof one);
  CALL(MPI_Win_flush_local_all, window);
  unlock();
}

/* Rank 0 keeps the others out; they see the memory as it was left, when they give the lock back. */
SCENARIO get_under_lock(void) {
  int seen;
  if (rank == 0) {
    hold_first();
    return;
  }
  align();
  lock(MPI_LOCK_EXCLUSIVE);
  CALL(MPI_Get, &seen, 1, MPI_INT, target, place, 1, MPI_INT, window);
  truth_rma(number, target, sizeof seen);
  unlock();
}

/* A wait for a lock in a window of each kind. Some of Open MPI's components cannot make all, on no rank then.
 */
static void use(int kind, MPI_Win made, MPI_Aint there) {
  MPI_Win usual = window;
  if (made == MPI_WIN_NULL) return;
  window = made;
  number = OTHERS + kind;
  place = there;
  lock_wait();
  CALL(MPI_Win_free, &made);
  truth_collective(TRUTH_FREE, WORLD, 0, 0);
  window = usual;
  number = WINDOW;
  place = 0;
}

static void note_creation(MPI_Win made) {
  if (made != MPI_WIN_NULL) truth_collective(TRUTH_CREATE, WORLD, 0, 0);
}

static MPI_Aint attached(MPI_Win made) {
  MPI_Aint there;
  if (made == MPI_WIN_NULL) return 0;
  MPI_Win_attach(made, memory, sizeof *memory);
  MPI_Get_address(memory, &there);
  CALL(MPI_Bcast, &there, 1, MPI_AINT, target, MPI_COMM_WORLD);
  truth_collective(TRUTH_BCAST, WORLD, target, 0);
  return there;
}

SCENARIO lock_kinds(void) {
  const MPI_Aint size = sizeof *memory;
  int* base;
  MPI_Win made = MPI_WIN_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CALL(MPI_Win_create, memory, size, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
  note_creation(made);
  use(0, made, 0);
  made = MPI_WIN_NULL;
  CALL(MPI_Win_allocate, size, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made);
  note_creation(made);
  use(1, made, 0);
  made = MPI_WIN_NULL;
  CALL(MPI_Win_allocate_shared, size, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made);
  note_creation(made);
  use(2, made, 0);
  made = MPI_WIN_NULL;
  CALL(MPI_Win_create_dynamic, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
  note_creation(made);
  use(3, made, attached(made));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv, 2);
  target = ranks - 1;
  CALL(MPI_Win_allocate, (MPI_Aint)((size_t)(1 + ranks) * sizeof *memory), sizeof *memory, MPI_INFO_NULL,
       MPI_COMM_WORLD, &memory, &window);
  truth_collective(TRUTH_CREATE, WORLD, 0, 0);
  truth_window(WINDOW, WORLD);
  for (int kind = 0; kind < 4; ++kind) truth_window(OTHERS + kind, WORLD);
  *memory = 0;
  RUN(lock_wait);
  RUN(shared_lock_wait);
  RUN(lock_all_wait);
  RUN(lock_all);
  RUN(requests);
  RUN(get_under_lock);
  RUN(lock_kinds);
  CALL(MPI_Win_free, &window);
  truth_collective(TRUTH_FREE, WORLD, 0, 0);
  return truth_end();
}
