/* The frame of a truth program whose threads wait for each other: its arguments and its scenarios.
 * Usage of each: PROGRAM LOGDIR [repetitions] [delay in ms] [scenario], all scenarios where none is named. */
#ifndef TRUTH_THREADS_H
#define TRUTH_THREADS_H

#include "truth_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int repetitions = 3;
static double delay = 20; /* ms */
static const char* only;
static int scenarios_run;
static int event; /* the last event's number */

/* A scenario is a procedure of its own, so that its calls have a call path and a label of their own. */
#define SCENARIO static __attribute__((noinline)) void

static inline void truth_begin(int argc, char** argv) {
  truth_open(argc > 1 ? argv[1] : ".");
  if (argc > 2) repetitions = atoi(argv[2]);
  if (argc > 3) delay = atof(argv[3]);
  if (argc > 4) only = argv[4];
}

/* Runs a scenario `repetitions` times, if it is asked for. */
static inline void run_scenario(void (*scenario)(void), const char* name) {
  if (only && strcmp(only, name) != 0) return;
  ++scenarios_run;
  for (int i = 0; i < repetitions; ++i) scenario();
}
#define RUN(scenario) run_scenario(scenario, #scenario)

static inline int truth_end(void) {
  if (scenarios_run == 0) {
    fprintf(stderr, "no such scenario: %s\n", only ? only : "");
    return 2;
  }
  truth_write();
  return 0;
}

#endif
