/* Truth: threads of one process that wait for each other: OpenMP barriers and idle workers, mutexes,
 * condition variables, barriers and joins of POSIX threads. Usage: thread_waits LOGDIR [repetitions] [delay
 * in ms] [scenario] */
#define _GNU_SOURCE
#include "truth_threads.h"

#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <sys/syscall.h>

enum { kThreads = 3 };

/* How many threads sleep in the kernel, waiting for something within `object`. */
static int sleepers(const void* object, size_t size) {
  char path[300], state[200];
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
    long call = -1;
    unsigned long word = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/syscall", task->d_name);
    FILE* file = fopen(path, "r");
    if (file == NULL) continue;
    if (fgets(state, sizeof state, file) != NULL && sscanf(state, "%ld %lx", &call, &word) == 2)
      count += call == SYS_futex && word - (unsigned long)object < size;
    fclose(file);
  }
  if (tasks != NULL) closedir(tasks);
  return count;
}

/* Until this number of threads has come to the object. When they entered their calls, their own logs do not
 * show: any time may pass between reading the clock and the call. */
static void see(int threads, const void* object, size_t size, int at) {
  enum { kMost = 20000 /* ms */ };
  truth_enter("see", "see");
  int waited = 0;
  while (sleepers(object, size) != threads && waited++ < kMost) truth_sleep(1);
  truth_exit();
  if (waited <= kMost) truth_sees(at);
}

/* One thread comes late to an explicit barrier. Before, the main thread may have to wait until the team has
 * come from its last region: it comes right from there to the barrier, so that the logs tell how long. */
SCENARIO omp_barrier(void) {
  const int at = ++event;
  truth_enter("region", "omp_barrier");
#pragma omp parallel num_threads(kThreads)
  {
    if (omp_get_thread_num() == kThreads - 1) truth_sleep(delay);
    truth_enter("GOMP_barrier", "omp_barrier");
#pragma omp barrier
    truth_exit();
    truth_awaits(TRUTH_OMP_BARRIER, at);
    truth_enables(at);
  }
  truth_exit();
}

/* The main thread comes first to the end of the region: it waits for the last of the team. */
SCENARIO omp_region_end(void) {
  const int at = ++event;
  truth_enter("GOMP_parallel", "omp_region_end");
#pragma omp parallel num_threads(kThreads)
  {
    if (omp_get_thread_num() > 0) {
      truth_sleep(delay);
      truth_enter("region_end", "omp_region_end");
      truth_exit();
      truth_enables(at);
    }
  }
  truth_exit();
  truth_awaits(TRUTH_OMP_BARRIER, at);
}

/* The team is idle while the main thread works alone between two regions. */
SCENARIO omp_idle(void) {
  const int at = ++event;
#pragma omp parallel num_threads(kThreads)
  if (omp_get_thread_num() > 0) truth_enter("idle", "omp_idle");
  truth_sleep(delay);
  truth_enter("GOMP_parallel", "omp_idle");
#pragma omp parallel num_threads(kThreads)
  if (omp_get_thread_num() > 0) {
    truth_exit();
    truth_awaits(TRUTH_OMP_IDLE, at);
  }
  truth_exit();
  truth_enables(at);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier, start;
static int ready;

static void* locks(void* at) {
  CALL(pthread_barrier_wait, &start);
  CALL(pthread_mutex_lock, &mutex);
  truth_awaits(TRUTH_LOCK_HELD, *(int*)at);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

/* The main thread holds the mutex that another wants. */
SCENARIO lock_held(void) {
  pthread_t thread;
  int at = ++event;
  pthread_create(&thread, NULL, locks, &at);
  pthread_mutex_lock(&mutex);
  CALL(pthread_barrier_wait, &start);
  see(1, &mutex, sizeof mutex, at);
  truth_sleep(delay);
  CALL(pthread_mutex_unlock, &mutex);
  truth_enables(at);
  pthread_join(thread, NULL);
}

static void* waits(void* at) {
  pthread_mutex_lock(&mutex);
  CALL(pthread_barrier_wait, &start);
  while (!ready) {
    CALL(pthread_cond_wait, &condition, &mutex);
    truth_awaits(TRUTH_CONDITION, *(int*)at);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

SCENARIO condition_wait(void) {
  pthread_t thread;
  int at = ++event;
  ready = 0;
  pthread_create(&thread, NULL, waits, &at);
  CALL(pthread_barrier_wait, &start);
  see(1, &condition, sizeof condition, at);
  truth_sleep(delay);
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_mutex_unlock(&mutex);
  CALL(pthread_cond_signal, &condition);
  truth_enables(at);
  pthread_join(thread, NULL);
}

static void* meets(void* at) {
  CALL(pthread_barrier_wait, &barrier);
  truth_awaits(TRUTH_CONDITION, *(int*)at);
  truth_enables(*(int*)at);
  return NULL;
}

/* The main thread comes late to the barrier. */
SCENARIO barrier_wait(void) {
  pthread_t thread[kThreads - 1];
  int at = ++event;
  for (int i = 0; i < kThreads - 1; ++i) pthread_create(&thread[i], NULL, meets, &at);
  see(kThreads - 1, &barrier, sizeof barrier, at);
  truth_sleep(delay);
  meets(&at);
  for (int i = 0; i < kThreads - 1; ++i) pthread_join(thread[i], NULL);
}

static void* works(void* at) {
  truth_sleep(delay);
  truth_enter("thread_end", __func__);
  truth_exit();
  truth_enables(*(int*)at);
  return NULL;
}

SCENARIO join(void) {
  pthread_t thread;
  int at = ++event;
  pthread_create(&thread, NULL, works, &at);
  CALL(pthread_join, thread, NULL);
  truth_awaits(TRUTH_JOIN, at);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv);
  pthread_barrier_init(&start, NULL, 2);
  pthread_barrier_init(&barrier, NULL, kThreads);
  RUN(omp_barrier);
  RUN(omp_region_end);
  RUN(omp_idle);
  RUN(lock_held);
  RUN(condition_wait);
  RUN(barrier_wait);
  RUN(join);
  return truth_end();
}
