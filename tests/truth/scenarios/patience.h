/* Ranks that wait inside MPI and do not spin: between two looks at their queues they nap, in place of
 * sched_yield (Open MPI) or after ucp_worker_progress found nothing (MPICH). A library of its own, found
 * before the system's: what an executable defines and MPI calls is taken for a reduction operator, and so for
 * work. */
#ifndef PATIENCE_H
#define PATIENCE_H

#include <time.h>

extern int patience_looks; /* in vain, since the program set it to 0 */

/* Sleeps by a bare system call, in the function itself. */
#define NAP(nanoseconds)                                                                                  \
  do {                                                                                                    \
    struct timespec nap_ = {0, (nanoseconds)};                                                            \
    long result_;                                                                                         \
    __asm__ volatile("syscall" : "=a"(result_) : "0"(35L), "D"(&nap_), "S"(0L) : "rcx", "r11", "memory"); \
    (void)result_;                                                                                        \
  } while (0)

#endif
