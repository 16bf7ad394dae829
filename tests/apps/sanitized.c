// What sanitizers watch, in C and in C++ alike: threads that lock, wait, allocate and end; an interval
// timer's handler; a child. `clean` makes no mistake; `race`, `leak`, `overflow` and `undefined` make the one
// that they are named for at the end.
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;
static long guarded;
static long unguarded;
static int alarms;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double compute(double until) {
  double sum = 1;
  while (seconds() < until) {
    char* block = (char*)malloc(512);
    for (int i = 0; i < 2000; ++i) sum = sum * 1.0000001 + 1e-9;
    memset(block, (int)sum & 0x7f, 512);
    free(block);
    pthread_mutex_lock(&lock);
    ++guarded;
    pthread_mutex_unlock(&lock);
  }
  return sum;
}

static void* work(void* argument) {
  pthread_mutex_lock(&lock);
  while (!ready) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  if (compute(seconds() + 0.2) < 0) return NULL;
  return argument;
}

static void* race(void* argument) {
  for (int i = 0; i < 1000; ++i) ++unguarded;
  return argument;
}

static void count_alarm(int number) {
  (void)number;
  __atomic_fetch_add(&alarms, 1, __ATOMIC_RELAXED);
}

static void run_threads(void* (*routine)(void*)) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, routine, NULL);
  usleep(10000);
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

static int run_child(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) _exit(compute(seconds() + 0.05) < 0);
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void err(const char* how) {
  if (strcmp(how, "race") == 0) run_threads(race);
  if (strcmp(how, "leak") == 0) {
    for (int i = 0; i < 100; ++i) {
      char* volatile lost = (char*)malloc(77);
      lost[0] = 1;
      lost = NULL;
    }
  }
  if (strcmp(how, "overflow") == 0) {
    char* volatile block = (char*)malloc(16);
    block[16] = 1;
    free(block);
  }
  if (strcmp(how, "undefined") == 0) {
    volatile int most = INT_MAX;
    most = most + 1;
  }
}

int main(int count, char** arguments) {
  struct sigaction action;
  const struct itimerval often = {{0, 7000}, {0, 7000}};
  const struct itimerval never = {{0, 0}, {0, 0}};
  memset(&action, 0, sizeof action);
  action.sa_handler = count_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  run_threads(work);
  setitimer(ITIMER_REAL, &never, NULL);
  const int child = run_child();
  err(count > 1 ? arguments[1] : "clean");
  printf("child %d, alarms %s\n", child,
         __atomic_load_n(&alarms, __ATOMIC_RELAXED) > 3 ? "came" : "are missing");
  return 0;
}
