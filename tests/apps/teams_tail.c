/* A plug-in whose functions end in a call of OpenMP, of which compilers make a jump: when that call is over,
 * none of the plug-in's code is left to run (test_teams.py). */
#include <omp.h>

void tail_meet(void) {
#pragma omp barrier
}

void tail_leave(void) {
#pragma omp critical
  __asm__ volatile("");
}

void tail_unlock(omp_lock_t* lock) {
  omp_unset_lock(lock);
}

void tail_wait_for_tasks(void) {
#pragma omp taskwait
}
