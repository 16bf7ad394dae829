/* Truth: where OpenMP threads wait and where they work: at the ends of regions and of loops, for locks and
 * critical sections, for tasks; in teams of the main thread and of others. Usage: openmp_waits
 * LOGDIR [repetitions] [delay in ms] [scenario] */
#include "truth_threads.h"

#include <omp.h>
#include <pthread.h>

enum { kThreads = 3, kTasks = 6 };

/* The thread's share of a region's work: the region then ends when the last is through. */
static __attribute__((noinline)) void works(const char* label, double milliseconds) {
  truth_enter("work", label);
  truth_sleep(milliseconds);
  truth_exit();
}

/* What every thread of a team does that meets at an implied barrier: the wait begins where its work ends, and
 * ends where the region does; only the main thread can tell when that was. */
static void share(int at, int slow) {
  if (omp_get_thread_num() == slow) truth_sleep(delay);
  truth_enter("arrives", "share");
  truth_exit();
  truth_enables(at);
}

/* The main thread comes last to the end of the region: the others wait for it there. */
SCENARIO main_is_late(void) {
  const int at = ++event;
  truth_enter("region", __func__);
#pragma omp parallel num_threads(kThreads)
  share(at, 0);
  truth_exit();
}

/* A loop whose last part is long. */
SCENARIO loop(void) {
  const int at = ++event;
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp for schedule(dynamic, 1) nowait
    for (int i = 0; i < kThreads; ++i)
      if (i == kThreads - 1) truth_sleep(delay);
    truth_enter("GOMP_barrier", "loop");
#pragma omp barrier
    truth_exit();
    truth_awaits(TRUTH_OMP_BARRIER, at);
    truth_enables(at);
  }
}

static volatile int begun; /* what another thread of the team is to find going on */

static void await_begin(void) {
  while (!begun) truth_sleep(0.1);
}

SCENARIO critical(void) {
  const int at = ++event;
  begun = 0;
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
#pragma omp critical
    {
      begun = 1;
      truth_sleep(delay);
      truth_enter("GOMP_critical_end", "critical");
      truth_exit();
      truth_enables(at);
    }
  } else {
    await_begin();
    truth_enter("GOMP_critical_start", "critical");
#pragma omp critical
    {
      truth_exit();
      truth_awaits(TRUTH_LOCK_HELD, at);
    }
  }
}

static omp_lock_t lock;

SCENARIO set_lock(void) {
  const int at = ++event;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      omp_set_lock(&lock);
#pragma omp barrier
      truth_sleep(delay);
      truth_enter("omp_unset_lock", "set_lock");
      omp_unset_lock(&lock);
      truth_exit();
      truth_enables(at);
    } else {
#pragma omp barrier
      truth_enter("omp_set_lock", "set_lock");
      omp_set_lock(&lock);
      truth_exit();
      truth_awaits(TRUTH_LOCK_HELD, at);
      omp_unset_lock(&lock);
    }
  }
}

/* Tasks are worked at while their threads are inside of a barrier, or wait for the tasks. */
SCENARIO tasks(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    for (int i = 0; i < kTasks; ++i) {
#pragma omp task
      works("task", delay / 2);
    }
#pragma omp taskwait
  }
}

/* A thread waits for the one task that another is at. */
SCENARIO taskwait(void) {
  const int at = ++event;
  begun = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task
    {
      begun = 1;
      truth_sleep(delay);
      truth_enter("task_end", "taskwait");
      truth_exit();
      truth_enables(at);
    }
    await_begin();
    truth_enter("GOMP_taskwait", "taskwait");
#pragma omp taskwait
    truth_exit();
    truth_awaits(TRUTH_OMP_BARRIER, at);
  }
}

static void* has_team(void* unused) {
  const int at = ++event;
  truth_enter("region", __func__);
#pragma omp parallel num_threads(2)
  share(at, 1);
  truth_exit();
  return unused;
}

/* A team of a thread that the program made. */
SCENARIO own_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, has_team, NULL);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv);
  omp_init_lock(&lock);
  RUN(main_is_late);
  RUN(loop);
  RUN(critical);
  RUN(set_lock);
  RUN(tasks);
  RUN(taskwait);
  RUN(own_thread);
  return truth_end();
}
