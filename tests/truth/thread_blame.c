/* Truth: who idles because of whom within a process. Each scenario plants a cause; what each function works,
 * which team it belongs to, and who waits for and holds which lock is written down with the program's own
 * clock. thread_blame.py computes from that what each function makes others wait. Usage: thread_blame LOGDIR
 * [repetitions] [scenario] [threads, up to 8] */
#define _GNU_SOURCE
#include "truth_log.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostThreads = 8, kMost = 100000 };

struct line {
  const char *what, *name, *function;
  int count;
  long long begin, end;
};
static struct line lines[kMost];
static atomic_int used;
static int repetitions = 10, threads = 4;

static void note(const char* what, const char* name, const char* function, int count, long long begin) {
  const int at = atomic_fetch_add(&used, 1);
  if (at < kMost) lines[at] = (struct line){what, name, function, count, begin, truth_now()};
}

/* A function that works for a team; a name of its own is what the profile shows. */
#define WORK(name)                                                                    \
  static __attribute__((noinline)) void name(const char* team, double milliseconds) { \
    const long long begin = truth_now();                                              \
    truth_sleep(milliseconds);                                                        \
    note("work", team, #name, 1, begin);                                              \
  }

/* The team of `count` threads exists while the body runs. */
#define TEAM(name, count, ...)                  \
  do {                                          \
    const long long team_begin = truth_now();   \
    __VA_ARGS__;                                \
    note("team", name, "-", count, team_begin); \
  } while (0)

#define SCENARIO static __attribute__((noinline)) void

WORK(shared_part)
WORK(assemble)

/* The main thread works alone between two regions: its workers idle. */
static void regions_and_serial(void) {
  for (int i = 0; i < repetitions; ++i) {
#pragma omp parallel num_threads(threads)
    shared_part("serial", 10);
    assemble("serial", 20);
  }
#pragma omp parallel num_threads(threads)
  shared_part("serial", 1);
}
SCENARIO serial(void) {
#pragma omp parallel num_threads(threads)
  shared_part("warm", 1);
  TEAM("serial", threads, regions_and_serial());
}

WORK(early_part)
WORK(late_part)

/* One thread comes late to a barrier. */
static void meet_late(void) {
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < repetitions; ++i) {
    if (omp_get_thread_num() == threads - 1) {
      late_part("barrier", 30);
    } else {
      early_part("barrier", 10);
    }
#pragma omp barrier
  }
}
SCENARIO barrier(void) {
  TEAM("barrier", threads, meet_late());
}

WORK(outer_part)

/* A function of a team within another one works for both. */
#define INNER_WORK(name, milliseconds)               \
  static __attribute__((noinline)) void name(void) { \
    const long long begin = truth_now();             \
    truth_sleep(milliseconds);                       \
    note("work", "inner", #name, 1, begin);          \
    note("work", "outer", #name, 1, begin);          \
  }
INNER_WORK(inner_short, 10)
INNER_WORK(inner_long, 40)

static void inner_team(void) {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      inner_short();
    } else {
      inner_long();
    }
  }
}

/* A team within another: what is idle in it is no fault of those outside. */
SCENARIO nested(void) {
  const long long begin = truth_now();
#pragma omp parallel num_threads(2)
  for (int i = 0; i < repetitions; ++i) {
    if (omp_get_thread_num() == 0) {
      outer_part("outer", 40);
    } else {
      TEAM("inner", 2, inner_team());
    }
#pragma omp barrier
  }
  note("member", "outer", "outer_part", 1, begin);
}

WORK(long_task)
WORK(short_task)

static void make_tasks(void) {
  for (int i = 0; i < repetitions; ++i) {
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp task
      long_task("tasks", 30);
      for (int t = 1; t < threads; ++t) {
#pragma omp task
        short_task("tasks", 10);
      }
    }
  }
}

/* Tasks are done inside of a barrier, where all wait for the longest. */
SCENARIO tasks(void) {
  TEAM("tasks", threads, make_tasks());
}

/* Who makes a loop of tasks waits for them at its end. */
static void make_loops_of_tasks(void) {
  for (int i = 0; i < repetitions; ++i) {
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskloop grainsize(1)
    for (int j = 0; j < threads; ++j) {
      if (j == threads - 1) {
        long_task("taskloop", 30);
      } else {
        short_task("taskloop", 10);
      }
    }
  }
}
SCENARIO taskloop(void) {
  TEAM("taskloop", threads, make_loops_of_tasks());
}

WORK(iteration)

static void run_loop(void) {
  for (int i = 0; i < repetitions; ++i) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int j = 0; j < threads + 1; ++j) iteration("dynamic", j == threads ? 30 : 10);
  }
}

/* The last part of a loop is the longest. */
SCENARIO dynamic(void) {
  TEAM("dynamic", threads, run_loop());
}

WORK(before_order)
WORK(in_order)

static void run_ordered(void) {
  for (int i = 0; i < repetitions; ++i) {
#pragma omp parallel for ordered schedule(static, 1) num_threads(threads)
    for (int j = 0; j < threads; ++j) {
      before_order("ordered", 5);
#pragma omp ordered
      in_order("ordered", 10);
    }
  }
}

/* Each iteration waits for the one before. */
SCENARIO ordered(void) {
  TEAM("ordered", threads, run_ordered());
}

/* Iterations that are nothing beside what it takes to give them out. */
static __attribute__((noinline)) void many_iterations(void) {
#pragma omp parallel num_threads(2)
  {
    const long long begin = truth_now();
#pragma omp for schedule(dynamic, 1) nowait
    for (int j = 0; j < 2000000; ++j) __asm__ volatile("");
    note("overhead", "-", "many_iterations", 1, begin);
  }
}
SCENARIO overhead(void) {
  for (int i = 0; i < repetitions; ++i) many_iterations();
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t todo = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static int items, busy, over;

WORK(consume)
WORK(produce)

static void* consumer(void* unused) {
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (items == 0 && !over) pthread_cond_wait(&todo, &mutex);
    if (over) break;
    --items;
    pthread_mutex_unlock(&mutex);
    consume("pool", 10);
    pthread_mutex_lock(&mutex);
    if (--busy == 0) pthread_cond_signal(&done);
  }
  pthread_mutex_unlock(&mutex);
  return unused;
}

static void feed_pool(void) {
  for (int i = 0; i < repetitions; ++i) {
    produce("pool", 20);
    pthread_mutex_lock(&mutex);
    items = busy = threads - 1;
    pthread_cond_broadcast(&todo);
    while (busy != 0) pthread_cond_wait(&done, &mutex);
    pthread_mutex_unlock(&mutex);
  }
}

/* A pool sleeps on a condition variable while the main thread makes work for it. */
SCENARIO pool(void) {
  pthread_t thread[kMostThreads];
  over = 0;
  for (int i = 0; i < threads - 1; ++i) pthread_create(&thread[i], NULL, consumer, NULL);
  TEAM("pool", threads, feed_pool());
  pthread_mutex_lock(&mutex);
  over = 1;
  pthread_cond_broadcast(&todo);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < threads - 1; ++i) pthread_join(thread[i], NULL);
}

WORK(brief_part)

static void* live_briefly(void* unused) {
  brief_part("brief", 0.6);
  return unused;
}

/* Threads that end before most of them are sampled; the main thread waits for their ends. */
SCENARIO brief(void) {
  for (int i = 0; i < 30 * repetitions; ++i) {
    pthread_t thread[2];
    for (int j = 0; j < 2; ++j) pthread_create(&thread[j], NULL, live_briefly, NULL);
    const long long begin = truth_now();
    for (int j = 0; j < 2; ++j) pthread_join(thread[j], NULL);
    note("member", "brief", "-", 1, begin);
  }
}

static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;

static void take(const char* name) {
  const long long begin = truth_now();
  pthread_mutex_lock(&contended);
  note("wait", name, "-", 1, begin);
}

/* The last call of such a function is a jump: then it has left its call path. */
#define SECTION(name, milliseconds)                  \
  static __attribute__((noinline)) void name(void) { \
    take("mutex");                                   \
    const long long begin = truth_now();             \
    truth_sleep(milliseconds);                       \
    note("hold", "mutex", #name, 1, begin);          \
    pthread_mutex_unlock(&contended);                \
  }
SECTION(long_section, 20)
SECTION(short_section, 2)
SECTION(third_section, 1)

static void* holds_long(void* unused) {
  pthread_barrier_wait(&start);
  for (int i = 0; i < repetitions; ++i) {
    truth_sleep(20);
    long_section();
  }
  return unused;
}

static void* holds_shortly(void* unused) {
  pthread_barrier_wait(&start);
  for (int i = 0; i < 10 * repetitions; ++i) {
    truth_sleep(1);
    short_section();
  }
  return unused;
}

static void* wants(void* unused) {
  pthread_barrier_wait(&start);
  for (int i = 0; i < 10 * repetitions; ++i) {
    truth_sleep(1.5);
    third_section();
  }
  return unused;
}

/* A lock that is held long on one path, and often on another. */
SCENARIO lock(void) {
  pthread_t thread[3];
  pthread_barrier_init(&start, NULL, 3);
  pthread_create(&thread[0], NULL, holds_long, NULL);
  pthread_create(&thread[1], NULL, holds_shortly, NULL);
  pthread_create(&thread[2], NULL, wants, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(thread[i], NULL);
}

static __attribute__((noinline)) void long_critical(void) {
  const long long begin = truth_now();
  truth_sleep(20);
  note("hold", "critical", "enter_long", 1, begin);
}
static __attribute__((noinline)) void short_critical(void) {
  const long long begin = truth_now();
  truth_sleep(4);
  note("hold", "critical", "enter_short", 1, begin);
}
static __attribute__((noinline)) void enter_long(void) {
  const long long begin = truth_now();
#pragma omp critical(section)
  {
    note("wait", "critical", "-", 1, begin);
    long_critical();
  }
}
static __attribute__((noinline)) void enter_short(void) {
  const long long begin = truth_now();
#pragma omp critical(section)
  {
    note("wait", "critical", "-", 1, begin);
    short_critical();
  }
}

/* The same of OpenMP. */
SCENARIO critical(void) {
#pragma omp parallel num_threads(3)
  for (int i = 0; i < repetitions; ++i) {
    if (omp_get_thread_num() == 0) {
      truth_sleep(20);
      enter_long();
    } else {
      for (int j = 0; j < 4; ++j) {
        truth_sleep(3);
        enter_short();
      }
    }
  }
}

/* Two critical sections of one function, which the lines tell apart. */
SCENARIO sections(void) {
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < repetitions; ++i) {
#pragma omp critical(first)
    truth_sleep(4);
#pragma omp critical(second)
    truth_sleep(8);
  }
}

#define RUN(scenario) \
  if (only == NULL || strcmp(only, #scenario) == 0) scenario()

int main(int argc, char** argv) {
  const char* only = argc > 3 ? argv[3] : NULL;
  if (argc > 2) repetitions = atoi(argv[2]);
  if (argc > 4) threads = atoi(argv[4]);
  if (threads < 2 || threads > kMostThreads) return 2;
  omp_set_max_active_levels(2);
  RUN(serial);
  RUN(barrier);
  RUN(nested);
  RUN(tasks);
  RUN(taskloop);
  RUN(dynamic);
  RUN(ordered);
  RUN(overhead);
  RUN(pool);
  RUN(brief);
  RUN(lock);
  RUN(critical);
  RUN(sections);
  char path[4096];
  snprintf(path, sizeof path, "%s/blame.log", argc > 1 ? argv[1] : ".");
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  for (int i = 0; i < used && i < kMost; ++i)
    fprintf(file, "%s %s %s %d %lld %lld\n", lines[i].what, lines[i].name, lines[i].function, lines[i].count,
            lines[i].begin, lines[i].end);
  return fclose(file) == 0 ? 0 : 1;
}
