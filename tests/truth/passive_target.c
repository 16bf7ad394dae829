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

int main(int argc, char** argv) {
  truth_begin(argc, argv, 2);
  target = ranks - 1;
  CALL(MPI_Win_allocate, sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  truth_collective(TRUTH_CREATE, WORLD, 0, 0);
  truth_window(WINDOW, WORLD);
  *memory = 0;
  RUN(lock_wait);
  RUN(shared_lock_wait);
  RUN(lock_all);
  CALL(MPI_Win_free, &window);
  truth_collective(TRUTH_FREE, WORLD, 0, 0);
  return truth_end();
}
