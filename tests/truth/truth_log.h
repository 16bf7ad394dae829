/* What a truth program notes of itself: the time at every enter and exit of a call, by its own clock
 * (CLOCK_MONOTONIC, ns), and what the call was. truth.py computes from these logs alone who waited for whom.
 *
 *   truth_open(argv[1]);                                    before MPI_Init
 *   CALL(MPI_Init, &argc, &argv);    truth_collective(TRUTH_INIT, 0, 0, 0);
 *   truth_rank(rank, ranks);
 *   CALL(MPI_Recv, ...);             truth_receives(0, source, tag, 0, bytes);
 *   CALL(MPI_Finalize);              truth_collective(TRUTH_FINALIZE, 0, 0, 0);
 *   truth_write();                                          after MPI_Finalize
 *
 * CALL reads the clock right before and right after the call; the facts that follow belong to the call of the
 * calling thread that ended last. Calls may be nested (a reduction operator inside MPI_Reduce). Calls are
 * labelled with the procedure that made them. Everything stays in memory until truth_write; each thread has
 * its own memory, so any number of threads may log (truth_open, truth_rank and truth_write: the main thread
 * only). Communicators, windows and operations are known by numbers that the program chooses: 0 is
 * MPI_COMM_WORLD; an operation's number is unique on its rank, and 0 for what begins and ends in one call.
 * Ranks are those of MPI_COMM_WORLD. The file's syntax is described in truth_logs.py. */
#ifndef TRUTH_LOG_H
#define TRUTH_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

enum { TRUTH_EAGER, TRUTH_SYNCHRONOUS, TRUTH_STANDARD }; /* whether a send waits for its receive */
enum {
  TRUTH_INIT,
  TRUTH_FINALIZE,
  TRUTH_BARRIER,
  TRUTH_NXN,    /* everyone needs everyone: allreduce, alltoall, allgather, reduce_scatter */
  TRUTH_BCAST,  /* everyone needs the root: also scatter */
  TRUTH_REDUCE, /* the root needs everyone: also gather */
  TRUTH_SCAN,   /* everyone needs the lower ranks */
  TRUTH_CREATE, /* of a window */
  TRUTH_FREE
};
enum { TRUTH_OMP_BARRIER, TRUTH_OMP_IDLE, TRUTH_LOCK_HELD, TRUTH_CONDITION, TRUTH_JOIN }; /* threads' waits */

/* Logs go to DIRECTORY/truth-RANK.log. */
void truth_open(const char* directory);
void truth_rank(int rank, int ranks);
void truth_write(void);

/* One call. The strings must live until truth_write. */
void truth_enter(const char* function, const char* label);
void truth_exit(void);
/* The same for Fortran, whose strings do not live: they are kept once each. */
void truth_enter_copy(const char* function, const char* label);

/* Facts of the last call. */
void truth_sends(int operation, int destination, int tag, int communicator, int bytes, int mode);
void truth_receives(int operation, int source, int tag, int communicator, int bytes);
void truth_probes(int source, int tag, int communicator);
void truth_completes(int operation);                           /* source and tag as posted */
void truth_completes_from(int operation, int source, int tag); /* of a wildcard receive */
void truth_collective(int kind, int communicator, int root, int operation);
void truth_rma(int window, int target, int bytes);
void truth_fence(int window);
void truth_post(int window, int origin);  /* once for each member of the group */
void truth_start(int window, int target); /* once for each member of the group */
void truth_complete(int window);
void truth_wait(int window);
void truth_lock(int window, int target, int exclusive);
void truth_unlock(int window, int target);
/* The call stands for a loop of `calls` calls that did not block, such as MPI_Test; the first of them was
 * over at this time (truth_now). */
void truth_polls(int calls, long long first);
void truth_work(void);                  /* the call's own time is work by construction: nothing in it waits */
void truth_awaits(int kind, int event); /* a thread waits until `event` was enabled, by all who enable it */
void truth_enables(int event);
void truth_sees(int event); /* by the call's end all who await the event were asleep in it */

/* The members of a communicator or a window (ranks of MPI_COMM_WORLD in the order of the communicator's). */
void truth_communicator(int communicator, int members, const int* ranks);
void truth_window(int window, int communicator);

/* The program's work: sleeping, so that delays hold on a machine that is busy with other things. */
void truth_sleep(double milliseconds);
/* Work that computes for so long by the thread's CPU time, and so takes longer on a busy machine. */
void truth_compute(double milliseconds);
long long truth_now(void);

#define CALL(function, ...) (truth_enter(#function, __func__), function(__VA_ARGS__), truth_exit())

#ifdef __cplusplus
}
#endif
#endif
