/* Truth: the waits of one-sided communication with passive targets. The last rank holds the memory. */
#include "truth_program.h"

enum { WINDOW = 1 };
static MPI_Win window;
static int* memory;
static int target;

static void lock(int kind) {
  CALL(MPI_Win_lock, kind, target, 0, window);
  truth_lock(WINDOW, target, kind == MPI_LOCK_EXCLUSIVE);
}
static void unlock(void) {
  CALL(MPI_Win_unlock, target, window);
  truth_unlock(WINDOW, target);
}
static void add(void) {
  const int one = 1;
  CALL(MPI_Accumulate, &one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, window);
  truth_rma(WINDOW, target, sizeof one);
}
static void flush(void) {
  CALL(MPI_Win_flush, target, window);
}

/* Rank 0 holds the lock for a while; the others come while it does, and each waits for those before it. */
SCENARIO lock_wait(void) {
  if (rank != 0) truth_sleep(delay / 4);
  lock(MPI_LOCK_EXCLUSIVE);
  add();
  flush(); /* now the lock is held, however lazily the library acquires it */
  if (rank == 0) truth_sleep(delay);
  unlock();
}

/* Shared locks exclude nobody but the exclusive one of rank 0. */
SCENARIO shared_lock_wait(void) {
  if (rank != 0) truth_sleep(delay / 4);
  lock(rank == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED);
  add();
  flush();
  truth_sleep(rank == 0 ? delay : delay / 4);
  unlock();
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

/* Rank 0 keeps the others out; they see the memory as it was left. */
SCENARIO get_under_lock(void) {
  int seen;
  if (rank != 0) truth_sleep(delay / 4);
  lock(MPI_LOCK_EXCLUSIVE);
  CALL(MPI_Get, &seen, 1, MPI_INT, target, 0, 1, MPI_INT, window);
  truth_rma(WINDOW, target, sizeof seen);
  flush();
  if (rank == 0) truth_sleep(delay);
  unlock();
}

int main(int argc, char** argv) {
  truth_begin(argc, argv, 2);
  target = ranks - 1;
  CALL(MPI_Win_allocate, (MPI_Aint)((size_t)(1 + ranks) * sizeof *memory), sizeof *memory, MPI_INFO_NULL,
       MPI_COMM_WORLD, &memory, &window);
  truth_collective(TRUTH_CREATE, WORLD, 0, 0);
  truth_window(WINDOW, WORLD);
  *memory = 0;
  RUN(lock_wait);
  RUN(shared_lock_wait);
  RUN(lock_all);
  RUN(requests);
  RUN(get_under_lock);
  CALL(MPI_Win_free, &window);
  truth_collective(TRUTH_FREE, WORLD, 0, 0);
  return truth_end();
}
