/* The frame of a truth program: its arguments, its beginning and end.
 * Usage of each: PROGRAM LOGDIR [repetitions] [delay in ms] [scenario], all scenarios where none is named. */
#ifndef TRUTH_PROGRAM_H
#define TRUTH_PROGRAM_H

#include "truth_log.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD = 0 }; /* the log's number of MPI_COMM_WORLD */

static int rank, ranks, repetitions = 3;
static double delay = 20; /* ms */
static const char* only;
static int scenarios_run;

/* A scenario is a procedure of its own, so that its calls have a call path and a label of their own. */
#define SCENARIO static __attribute__((noinline)) void

static inline void align(void) {
  CALL(MPI_Barrier, MPI_COMM_WORLD);
  truth_collective(TRUTH_BARRIER, WORLD, 0, 0);
}

static inline void truth_begin_log(int argc, char** argv) {
  truth_open(argc > 1 ? argv[1] : ".");
  if (argc > 2) repetitions = atoi(argv[2]);
  if (argc > 3) delay = atof(argv[3]);
  if (argc > 4) only = argv[4];
}

static inline void truth_begin_world(int least_ranks) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  truth_rank(rank, ranks);
  if (ranks < least_ranks) {
    if (rank == 0) fprintf(stderr, "needs %d ranks or more\n", least_ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

static inline void truth_begin(int argc, char** argv, int least_ranks) {
  truth_begin_log(argc, argv);
  CALL(MPI_Init, &argc, &argv);
  truth_collective(TRUTH_INIT, WORLD, 0, 0);
  truth_begin_world(least_ranks);
}

/* Runs a scenario `repetitions` times, everyone starting together, if it is asked for. */
static inline void run_scenario(void (*scenario)(void), const char* name) {
  if (only && strcmp(only, name) != 0) return;
  ++scenarios_run;
  for (int i = 0; i < repetitions; ++i) {
    align();
    scenario();
  }
}
#define RUN(scenario) run_scenario(scenario, #scenario)

static inline int truth_end(void) {
  if (scenarios_run == 0) {
    fprintf(stderr, "no such scenario: %s\n", only ? only : "");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  CALL(MPI_Finalize);
  truth_collective(TRUTH_FINALIZE, WORLD, 0, 0);
  truth_write();
  return 0;
}

#endif
