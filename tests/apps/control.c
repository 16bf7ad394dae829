/* What a program tells its sampler with culprit.h, in ways whose result is known beforehand: work_outside()
   runs only while sampling is stopped, work_inside() only while it goes on. Prints in nanoseconds, per thread
   that works, at least and at most how long sampling went on. Usage: control MODE */
#include <culprit.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noipa)) /* two functions stay two */

static volatile unsigned long sink;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void spin(int ms) {
  const long long end = now() + ms * 1000000LL;
  while (now() < end) {
    for (int i = 0; i < 1000; ++i) sink = sink + (unsigned long)i;
  }
}

NOINLINE static void work_inside(int ms) {
  spin(ms);
  __asm__ volatile("");
}
NOINLINE static void work_outside(int ms) {
  spin(ms);
  __asm__ volatile("");
}

static long long at_least, at_most;

/* Starts, works, stops; adds up how long sampling went on. */
static void measured_work(int ms) {
  const long long before = now();
  culprit_start();
  const long long begin = now();
  work_inside(ms);
  const long long end = now();
  culprit_stop();
  at_least += end - begin;
  at_most += now() - before;
}

static void sections(void) {
  culprit_stop();
  for (int i = 0; i < 40; ++i) {
    work_outside(9);
    measured_work(11);
  }
}

/* Threads that exist before sampling starts, and threads that are made while it is stopped. */
static pthread_barrier_t barrier;
static const int kThreads = 3;

static void* worker(void* unused) {
  (void)unused;
  work_outside(50);
  pthread_barrier_wait(&barrier); /* to be started */
  for (int i = 0; i < 3; ++i) {
    pthread_barrier_wait(&barrier); /* started */
    work_inside(100);
    pthread_barrier_wait(&barrier); /* to be stopped */
    pthread_barrier_wait(&barrier); /* stopped */
    work_outside(50);
    pthread_barrier_wait(&barrier); /* to be started, or to end */
  }
  return NULL;
}

static void threads(void) {
  pthread_t workers[8];
  pthread_barrier_init(&barrier, NULL, (unsigned)kThreads + 1);
  culprit_stop();
  for (int i = 0; i < kThreads; ++i) pthread_create(&workers[i], NULL, worker, NULL);
  work_outside(50);
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < 3; ++i) {
    culprit_start();
    pthread_barrier_wait(&barrier);
    work_inside(100);
    pthread_barrier_wait(&barrier);
    culprit_stop();
    pthread_barrier_wait(&barrier);
    work_outside(50);
    pthread_barrier_wait(&barrier);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(workers[i], NULL);
}

/* A wait that sampling is stopped in the middle of, and resumed in the middle of: the main thread polls. */
static void* stopper(void* border) {
  spin(100);
  culprit_stop();
  *(long long*)border = now();
  return NULL;
}

static void blocked(void) {
  pthread_t thread;
  long long border = 0;
  const long long begin = now();
  pthread_create(&thread, NULL, stopper, &border);
  poll(NULL, 0, 600);
  work_outside(100);
  pthread_join(thread, NULL);
  at_least = 50000000;
  at_most = border - begin;
}

/* The same, and the process is killed in the middle of both. */
static void* stop_and_kill(void* unused) {
  const long long begin = now();
  (void)unused;
  spin(600); /* the wait is published, and heartbeats follow it */
  culprit_stop();
  printf("%lld %lld\n", 400000000LL, now() - begin + 100000000LL);
  fflush(stdout);
  spin(900);
  kill(getpid(), SIGKILL);
  return NULL;
}

static void killed(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, stop_and_kill, NULL);
  poll(NULL, 0, 60000);
}

/* Both from a signal handler, many times, while another thread does the same. */
static void on_signal(int number) {
  (void)number;
  culprit_stop();
  culprit_start();
}

static void* toggle(void* unused) {
  (void)unused;
  for (int i = 0; i < 20000; ++i) {
    culprit_stop();
    culprit_start();
  }
  return NULL;
}

static void storm(void) {
  pthread_t thread;
  culprit_start();
  signal(SIGUSR1, on_signal);
  pthread_create(&thread, NULL, toggle, NULL);
  for (int i = 0; i < 20000; ++i) {
    raise(SIGUSR1);
    culprit_stop();
  }
  pthread_join(thread, NULL);
  culprit_start();
  work_inside(300);
}

static void forks(void) {
  const pid_t child = fork();
  if (child == 0) {
    culprit_stop();
    work_outside(50);
    measured_work(100);
    exit(0);
  }
  measured_work(100);
  culprit_stop();
  work_outside(50);
  waitpid(child, NULL, 0);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (strcmp(mode, "sections") == 0) sections();
  if (strcmp(mode, "threads") == 0) threads();
  if (strcmp(mode, "blocked") == 0) blocked();
  if (strcmp(mode, "killed") == 0) killed();
  if (strcmp(mode, "storm") == 0) storm();
  if (strcmp(mode, "forks") == 0) forks();
  if (strcmp(mode, "never") == 0) work_outside(50);
  printf("%lld %lld\n", at_least, at_most);
  return 0;
}
