/* Ranks that wait inside MPI and do not spin: between two looks at their queues they nap, in place of
 * sched_yield (Open MPI) or after ucp_worker_progress found nothing (MPICH). A library of its own, found
 * before the system's: what an executable defines and MPI calls is taken for a reduction operator, and so for
 * work. */
#ifndef PATIENCE_H
#define PATIENCE_H

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
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

#ifdef SCHED_RESET_ON_FORK /* with _GNU_SOURCE */
/* A real-time thread that does not nap would take a processor from everybody: the kernel says when, and the
 * thread is as any other from then on. */
static inline void be_as_others(int signal) {
  const struct sched_param ordinary = {0};
  (void)signal;
  sched_setscheduler(0, SCHED_OTHER, &ordinary);
}
static inline void be_urgent(void) {
  const struct rlimit microseconds = {10000, RLIM_INFINITY};
  const struct sched_param urgent = {1};
  signal(SIGXCPU, be_as_others);
  if (setrlimit(RLIMIT_RTTIME, &microseconds) == 0) {
    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &urgent);
  }
}
#endif

#endif
