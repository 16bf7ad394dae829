/* A team of threads in each rank of a generated program: what stands around parallel regions, critical
 * sections, and in the log. `region` is the main thread's call around a region, `lock` a thread's wait for
 * the lock, `hold` what it does meanwhile; work is logged by the thread that does it. */
#ifndef SCENARIO_THREADS_H
#define SCENARIO_THREADS_H

#include "scenario.h"

#include <omp.h>

#define REGION_BEGIN() truth_enter("region", here->label)
#define REGION_END() truth_exit()
/* The last act of every thread in a region, so that no call before it is a jump. */
#define MEMBER_LEAVES() __asm__ volatile("")
#define LOCK() truth_enter("lock", here->label)
#define HOLD() (truth_exit(), truth_enter("hold", here->label))
#define RELEASE() truth_exit()

/* All threads are there, as urgent as the main thread, and have memory for their log. */
static void scenario_team(int threads) {
#pragma omp parallel num_threads(threads)
  {
    member = omp_get_thread_num();
    be_urgent();
    truth_enter("team", here->label);
#pragma omp barrier
    truth_exit();
  }
}

#endif
