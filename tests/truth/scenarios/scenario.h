/* The frame of a generated program (generate.py writes the rest): its call path by its own account, work that
 * takes time and hardly a processor, and one macro for each kind of communication.
 *
 * Work passes wall-clock time in the function itself, in naps of a millisecond at most that are entered by a
 * bare system call: the sampler finds a thread that runs in the function, not one that an interposed sleep
 * announces. Between two naps the thread computes for a moment, so that no sampler takes it for a thread that
 * waits. So eight ranks on two processors hardly disturb each other, and each piece of work takes the time
 * that the log states. Macros, not functions: MPI calls and work belong to the generated function, and so do
 * the samples.
 *
 * With so little use of processors, also inside MPI (patience.h), the program can have a real-time priority
 * where the system grants one: it does not notice what else the machine does. */
#ifndef SCENARIO_H
#define SCENARIO_H

#define _GNU_SOURCE /* SCHED_RESET_ON_FORK */

#include "patience.h"
#include "truth_log.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

enum { WORLD = 0, WINDOW = 1, GROUP = 2, MOST_RANKS = 8, NAP_NS = 1000000, BURN_NS = 30000, LARGE = 65536 };

#ifndef BURN_LOOPS
#define BURN_LOOPS 6000 /* between two naps: some ten microseconds */
#endif

static int rank, ranks, iteration, operation, mine = 1, theirs[MOST_RANKS];
static MPI_Win window;
static int* exposed;
static _Thread_local int member; /* of the team, where there is one */
static double noise;             /* relative standard deviation of each piece of work */

/* ---- the call path, by procedures */

typedef struct Place {
  const char* name;
  const char* label; /* "main/step/solve" */
  struct Place *caller, *callee, *next;
  int cause; /* of the causes, which one works too much here; -1: none */
  int left;  /* by a jump to the callee, which returns to where this would */
} Place;

static Place* here;
static const char* const cause_places[];
static const int causes;

static Place* made_place(Place* caller, const char* name) {
  Place* place = calloc(1, sizeof *place);
  const size_t size = (caller ? strlen(caller->label) + 1 : 0) + strlen(name) + 1;
  char* label = malloc(size);
  snprintf(label, size, "%s%s%s", caller ? caller->label : "", caller ? "/" : "", name);
  place->name = name;
  place->label = label;
  place->caller = caller;
  place->cause = -1;
  for (int i = 0; i < causes; ++i) {
    if (strcmp(label, cause_places[i]) == 0) place->cause = i;
  }
  return place;
}

/* Names are compared by address: each function has one string. */
static inline __attribute__((always_inline)) void arrive(const char* name) {
  Place* place = here->callee;
  while (place && place->name != name) place = place->next;
  if (!place) {
    place = made_place(here, name);
    place->next = here->callee;
    here->callee = place;
  }
  here = place;
}
/* The last act of a function, so that no call before it is a jump. */
#define LEAVE() (here = here->caller)
/* The same in functions that others leave their frames to by a jump, and how those do so. */
#define LEAVE_ALL()                                                            \
  do {                                                                         \
    for (here = here->caller; here->left; here = here->caller) here->left = 0; \
  } while (0)
#define TAIL_CALL(call) (here->left = 1, call)

/* ---- work */

/* Nanoseconds of work that is planned to take these milliseconds. */
static __attribute__((noinline)) long long varied(double milliseconds) {
  static _Thread_local unsigned long long state = 0;
  if (state == 0) state = 0x9e3779b97f4a7c15ULL * (unsigned)(rank + 1 + MOST_RANKS * member);
  double sum = -6;
  for (int i = 0; i < 12; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    sum += (double)(state >> 33) / 2147483648.0;
  }
  const double factor = 1 + noise * sum;
  return (long long)(1e6 * milliseconds * (factor > 0.1 ? factor : 0.1));
}

#define PIECE(name, nanoseconds)                                                               \
  do {                                                                                         \
    const long long long_ = (nanoseconds);                                                     \
    truth_enter(name, here->label);                                                            \
    const long long end_ = truth_now() + long_;                                                \
    for (long long left_; (left_ = end_ - truth_now()) > 0;) {                                 \
      if (left_ > 2 * BURN_NS) NAP(left_ - BURN_NS < NAP_NS ? left_ - BURN_NS : (long)NAP_NS); \
      volatile double burnt_ = 0;                                                              \
      for (int i_ = 0; i_ < BURN_LOOPS; ++i_) burnt_ += 1.0;                                   \
    }                                                                                          \
    truth_exit();                                                                              \
  } while (0)

/* Work in a procedure that all functions share, and in one that the compiler puts into each. */
static __attribute__((noinline, unused)) void kernel(const char* name, long long nanoseconds) {
  PIECE(name, nanoseconds);
  __asm__ volatile("");
}
static inline __attribute__((always_inline, unused)) void inlined_kernel(const char* name,
                                                                         long long nanoseconds) {
  PIECE(name, nanoseconds);
}

#define WORK_HERE(amount) PIECE("work", varied(amount))
#define WORK_SHARED(amount) kernel("work", varied(amount))
#define WORK_INLINED(amount) inlined_kernel("work", varied(amount))
/* What a cause adds to the function that it is of. */
#define EXTRA_HERE(name, amount)                   \
  do {                                             \
    if ((amount) > 0) PIECE(name, varied(amount)); \
  } while (0)
#define EXTRA_SHARED(name, amount)                  \
  do {                                              \
    if ((amount) > 0) kernel(name, varied(amount)); \
  } while (0)
#define EXTRA_INLINED(name, amount)                         \
  do {                                                      \
    if ((amount) > 0) inlined_kernel(name, varied(amount)); \
  } while (0)

/* ---- communication */

#define MPI(function, ...) \
  (patience_looks = 0, truth_enter(#function, here->label), function(__VA_ARGS__), truth_exit())

#define SEND(to, tag)                                              \
  do {                                                             \
    MPI(MPI_Send, &mine, 1, MPI_INT, (to), (tag), MPI_COMM_WORLD); \
    truth_sends(0, (to), (tag), WORLD, sizeof mine, TRUTH_EAGER);  \
  } while (0)
#define SYNCHRONOUS_SEND(to, tag)                                       \
  do {                                                                  \
    MPI(MPI_Ssend, &mine, 1, MPI_INT, (to), (tag), MPI_COMM_WORLD);     \
    truth_sends(0, (to), (tag), WORLD, sizeof mine, TRUTH_SYNCHRONOUS); \
  } while (0)
#define RECEIVE(from, tag)                                                               \
  do {                                                                                   \
    MPI(MPI_Recv, theirs, 1, MPI_INT, (from), (tag), MPI_COMM_WORLD, MPI_STATUS_IGNORE); \
    truth_receives(0, (from), (tag), WORLD, sizeof mine);                                \
  } while (0)
#define SENDRECV(to, from, tag)                                                                          \
  do {                                                                                                   \
    MPI(MPI_Sendrecv, &mine, 1, MPI_INT, (to), (tag), theirs, 1, MPI_INT, (from), (tag), MPI_COMM_WORLD, \
        MPI_STATUS_IGNORE);                                                                              \
    truth_sends(0, (to), (tag), WORLD, sizeof mine, TRUTH_EAGER);                                        \
    truth_receives(0, (from), (tag), WORLD, sizeof mine);                                                \
  } while (0)
#define SERVE(tag)                                     \
  do {                                                 \
    for (int r = 1; r < ranks; ++r) RECEIVE(r, (tag)); \
    for (int r = 1; r < ranks; ++r) SEND(r, (tag));    \
  } while (0)

/* Halos with the neighbours in a chain, or in a ring. */
static MPI_Request halo[4];
static int halo_operations[4], halo_size;
#define HALO_WITH(other, tag)                                                                         \
  do {                                                                                                \
    MPI(MPI_Irecv, &theirs[halo_size], 1, MPI_INT, (other), (tag), MPI_COMM_WORLD, &halo[halo_size]); \
    truth_receives(halo_operations[halo_size++] = ++operation, (other), (tag), WORLD, sizeof mine);   \
    MPI(MPI_Isend, &mine, 1, MPI_INT, (other), (tag), MPI_COMM_WORLD, &halo[halo_size]);              \
    truth_sends(halo_operations[halo_size++] = ++operation, (other), (tag), WORLD, sizeof mine,       \
                TRUTH_EAGER);                                                                         \
  } while (0)
#define HALO_BEGIN(ring, tag)                                                                         \
  do {                                                                                                \
    halo_size = 0;                                                                                    \
    if ((ring) || rank > 0) HALO_WITH((rank + ranks - 1) % ranks, (tag));                             \
    if (((ring) && ranks > 2) || (!(ring) && rank < ranks - 1)) HALO_WITH((rank + 1) % ranks, (tag)); \
  } while (0)
#define HALO_END()                                                               \
  do {                                                                           \
    MPI(MPI_Waitall, halo_size, halo, MPI_STATUSES_IGNORE);                      \
    for (int i_ = 0; i_ < halo_size; ++i_) truth_completes(halo_operations[i_]); \
  } while (0)

#define COLLECTIVE(kind, root, call)        \
  do {                                      \
    call;                                   \
    truth_collective(kind, WORLD, root, 0); \
  } while (0)
#define BARRIER() COLLECTIVE(TRUTH_BARRIER, 0, MPI(MPI_Barrier, MPI_COMM_WORLD))
#define ALLREDUCE() \
  COLLECTIVE(TRUTH_NXN, 0, MPI(MPI_Allreduce, &mine, theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD))
#define ALLGATHER() \
  COLLECTIVE(TRUTH_NXN, 0, MPI(MPI_Allgather, &mine, 1, MPI_INT, theirs, 1, MPI_INT, MPI_COMM_WORLD))
#define ALLTOALL() \
  COLLECTIVE(TRUTH_NXN, 0, MPI(MPI_Alltoall, exchanged, 1, MPI_INT, theirs, 1, MPI_INT, MPI_COMM_WORLD))
#define BCAST(root) COLLECTIVE(TRUTH_BCAST, root, MPI(MPI_Bcast, theirs, 1, MPI_INT, root, MPI_COMM_WORLD))
#define REDUCE(root) \
  COLLECTIVE(TRUTH_REDUCE, root, MPI(MPI_Reduce, &mine, theirs, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD))
#define GATHER(root) \
  COLLECTIVE(TRUTH_REDUCE, root, MPI(MPI_Gather, &mine, 1, MPI_INT, theirs, 1, MPI_INT, root, MPI_COMM_WORLD))
#define SCAN() COLLECTIVE(TRUTH_SCAN, 0, MPI(MPI_Scan, &mine, theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD))
static int exchanged[MOST_RANKS];

/* Even ranks, or odd ones. */
static MPI_Comm group;
#define GROUP_COLLECTIVE(kind, call)                       \
  do {                                                     \
    call;                                                  \
    truth_collective(kind, GROUP + rank % 2, rank % 2, 0); \
  } while (0)
#define GROUP_ALLREDUCE() \
  GROUP_COLLECTIVE(TRUTH_NXN, MPI(MPI_Allreduce, &mine, theirs, 1, MPI_INT, MPI_SUM, group))
#define GROUP_BARRIER() GROUP_COLLECTIVE(TRUTH_BARRIER, MPI(MPI_Barrier, group))
#define GROUP_BCAST() GROUP_COLLECTIVE(TRUTH_BCAST, MPI(MPI_Bcast, theirs, 1, MPI_INT, 0, group))

/* More than libraries buffer: who sends waits for who receives. */
static int much[LARGE], more[LARGE];
#define LARGE_SENDRECV(to, from, tag)                                                         \
  do {                                                                                        \
    MPI(MPI_Sendrecv, much, LARGE, MPI_INT, (to), (tag), more, LARGE, MPI_INT, (from), (tag), \
        MPI_COMM_WORLD, MPI_STATUS_IGNORE);                                                   \
    truth_sends(0, (to), (tag), WORLD, sizeof much, TRUTH_SYNCHRONOUS);                       \
    truth_receives(0, (from), (tag), WORLD, sizeof more);                                     \
  } while (0)
#define LARGE_BCAST(root) \
  COLLECTIVE(TRUTH_BCAST, root, MPI(MPI_Bcast, more, LARGE, MPI_INT, root, MPI_COMM_WORLD))
#define LARGE_ALLREDUCE() \
  COLLECTIVE(TRUTH_NXN, 0, MPI(MPI_Allreduce, much, more, LARGE, MPI_INT, MPI_SUM, MPI_COMM_WORLD))

/* A collective operation that is begun, and completed later. */
static MPI_Request started;
static int started_operation;
#define ALLREDUCE_BEGIN()                                                              \
  do {                                                                                 \
    MPI(MPI_Iallreduce, &mine, theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &started); \
    truth_collective(TRUTH_NXN, WORLD, 0, started_operation = ++operation);            \
  } while (0)
#define BARRIER_BEGIN()                                                     \
  do {                                                                      \
    MPI(MPI_Ibarrier, MPI_COMM_WORLD, &started);                            \
    truth_collective(TRUTH_NXN, WORLD, 0, started_operation = ++operation); \
  } while (0)
#define STARTED_END()                           \
  do {                                          \
    MPI(MPI_Wait, &started, MPI_STATUS_IGNORE); \
    truth_completes(started_operation);         \
  } while (0)

#define FENCE()                    \
  do {                             \
    MPI(MPI_Win_fence, 0, window); \
    truth_fence(WINDOW);           \
  } while (0)
#define PUT(target)                                                      \
  do {                                                                   \
    MPI(MPI_Put, &mine, 1, MPI_INT, (target), rank, 1, MPI_INT, window); \
    truth_rma(WINDOW, (target), sizeof mine);                            \
  } while (0)
/* Passive target. */
#define LOCKED_PUT(target)                                      \
  do {                                                          \
    MPI(MPI_Win_lock, MPI_LOCK_EXCLUSIVE, (target), 0, window); \
    truth_lock(WINDOW, (target), 1);                            \
    PUT(target);                                                \
    MPI(MPI_Win_unlock, (target), window);                      \
    truth_unlock(WINDOW, (target));                             \
  } while (0)
static MPI_Group left_group, right_group;
#define RIGHT ((rank + 1) % ranks)
#define LEFT ((rank + ranks - 1) % ranks)
#define POST()                                \
  do {                                        \
    MPI(MPI_Win_post, left_group, 0, window); \
    truth_post(WINDOW, LEFT);                 \
  } while (0)
#define START()                                 \
  do {                                          \
    MPI(MPI_Win_start, right_group, 0, window); \
    truth_start(WINDOW, RIGHT);                 \
  } while (0)
#define COMPLETE()                 \
  do {                             \
    MPI(MPI_Win_complete, window); \
    truth_complete(WINDOW);        \
  } while (0)
#define WIN_WAIT()             \
  do {                         \
    MPI(MPI_Win_wait, window); \
    truth_wait(WINDOW);        \
  } while (0)

/* ---- the beginning and the end */

static void scenario_begin(int argc, char** argv, double relative_noise) {
  prctl(PR_SET_TIMERSLACK, 1000UL); /* naps end on time */
  noise = relative_noise;
  here = made_place(NULL, "main");
  truth_open(argc > 1 ? argv[1] : ".");
  MPI(MPI_Init, &argc, &argv);
  truth_collective(TRUTH_INIT, WORLD, 0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  truth_rank(rank, ranks);
  be_urgent();
}

static inline void scenario_window(void) {
  MPI_Group everyone;
  const int left = LEFT, right = RIGHT;
  MPI_Comm_group(MPI_COMM_WORLD, &everyone);
  MPI_Group_incl(everyone, 1, &left, &left_group);
  MPI_Group_incl(everyone, 1, &right, &right_group);
  MPI(MPI_Win_allocate, MOST_RANKS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &exposed,
      &window);
  truth_window(WINDOW, WORLD);
  truth_collective(TRUTH_CREATE, WORLD, 0, 0);
}
static inline void scenario_window_free(void) {
  MPI(MPI_Win_free, &window);
  truth_collective(TRUTH_FREE, WORLD, 0, 0);
}

static inline void scenario_groups(void) {
  int members[MOST_RANKS], count = 0;
  for (int r = rank % 2; r < ranks; r += 2) members[count++] = r;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group);
  truth_communicator(GROUP + rank % 2, count, members);
}

/* A second thread, which does its own things all the time. */
static pthread_t helper;
static atomic_int helper_ends;
static inline __attribute__((noinline)) void help(void) {
  NAP(NAP_NS);
  volatile double burnt = 0;
  for (int i = 0; i < BURN_LOOPS; ++i) burnt += 1.0;
}
static inline void* helping(void* nothing) {
  while (!atomic_load(&helper_ends)) help();
  return nothing;
}
static inline void scenario_helper(void) {
  pthread_create(&helper, NULL, helping, NULL);
}
static inline void scenario_helper_end(void) {
  atomic_store(&helper_ends, 1);
  pthread_join(helper, NULL);
}

static int scenario_end(void) {
  MPI(MPI_Finalize);
  truth_collective(TRUTH_FINALIZE, WORLD, 0, 0);
  truth_write();
  return 0;
}

#endif
