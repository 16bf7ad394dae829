/* What a program with teams and locks may do while it is followed (test_teams.py): each case prints what it
 * finds, which is the same without being measured. Usage: teams CASE */
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
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

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static omp_lock_t lock;

static void nap(int milliseconds) {
  const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

static void* hold_shortly(void* unused) {
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(&mutex);
    nap(1);
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

/* A thread of a team forks: the child has one thread, and its locks and a thread of its own work. */
static int forks(void) {
  int statuses[4] = {0};
#pragma omp parallel num_threads(4)
  {
    nap(5 * omp_get_thread_num());
#pragma omp critical
    if (omp_get_thread_num() % 2 == 1) {
      const pid_t child = fork();
      if (child == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, hold_shortly, NULL);
        hold_shortly(NULL);
        pthread_join(thread, NULL);
        exit(40 + omp_get_thread_num());
      }
      int status = 0;
      waitpid(child, &status, 0);
      statuses[omp_get_thread_num()] = WEXITSTATUS(status);
    }
#pragma omp barrier
    nap(10);
  }
  printf("children ended with %d %d\n", statuses[1], statuses[3]);
  return 0;
}

/* A thread ends the process in the middle of a team, while others wait. */
static int exits(void) {
#pragma omp parallel num_threads(4)
  {
    if (omp_get_thread_num() == 2) {
      nap(60);
      exit(7);
    }
#pragma omp barrier
  }
  return 1;
}

static void unlock(void* held) {
  pthread_mutex_unlock(held);
}

static void* waits_for_ever(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  for (;;) pthread_cond_wait(&never, &mutex);
  pthread_cleanup_pop(1);
  return unused;
}

/* Threads are cancelled while they wait, and while others want what they hold. */
static int cancels(void) {
  int cancelled = 0;
  for (int i = 0; i < 10; ++i) {
    pthread_t waiting, holding;
    pthread_create(&waiting, NULL, waits_for_ever, NULL);
    pthread_create(&holding, NULL, hold_shortly, NULL);
    nap(5);
    pthread_cancel(waiting);
    void* result = NULL;
    pthread_join(waiting, &result);
    cancelled += result == PTHREAD_CANCELED;
    pthread_join(holding, NULL);
  }
  printf("%d were cancelled\n", cancelled);
  return 0;
}

/* What gives a lock back leaves errno alone, though others waited for it. */
static int keeps_errno(void) {
  int kept = 0, tried = 0;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(4) reduction(+ : kept, tried)
  for (int i = 0; i < 20; ++i) {
    omp_set_lock(&lock);
    nap(1);
    errno = EDOM;
    omp_unset_lock(&lock);
    kept += errno == EDOM;
    pthread_mutex_lock(&mutex);
    nap(1);
    errno = ERANGE;
    pthread_mutex_unlock(&mutex);
    kept += errno == ERANGE;
    tried += 2;
  }
  printf("errno was kept %d of %d times\n", kept, tried);
  return 0;
}

static _Thread_local sigjmp_buf here;

static void jump(int signal) {
  siglongjmp(here, signal);
}

static void* is_torn_away(void* arrived) {
  volatile int jumps = 0;
  signal(SIGUSR1, jump);
  pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&own);
  if (sigsetjmp(here, 1) == 0) {
    __atomic_store_n((int*)arrived, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&own); /* for ever */
  } else {
    ++jumps;
  }
  nap(20); /* works again */
  return (void*)(long)jumps;
}

static void* is_torn_from_poll(void* arrived) {
  int pipes[2];
  volatile int jumps = 0;
  signal(SIGUSR1, jump);
  if (pipe(pipes) != 0) return NULL;
  if (sigsetjmp(here, 1) == 0) {
    struct pollfd descriptor = {pipes[0], POLLIN, 0};
    __atomic_store_n((int*)arrived, 1, __ATOMIC_RELEASE);
    poll(&descriptor, 1, -1);
  } else {
    ++jumps;
  }
  nap(20);
  return (void*)(long)jumps;
}

/* A handler jumps out of a wait. */
static int jumps(void) {
  long jumped = 0;
  for (int i = 0; i < 10; ++i) {
    pthread_t thread;
    int arrived = 0;
    pthread_create(&thread, NULL, i % 2 == 0 ? is_torn_away : is_torn_from_poll, &arrived);
    while (!__atomic_load_n(&arrived, __ATOMIC_ACQUIRE)) nap(1);
    nap(5);
    pthread_kill(thread, SIGUSR1);
    void* result = NULL;
    pthread_join(thread, &result);
    jumped += (long)result;
  }
  printf("%ld jumps\n", jumped);
  return 0;
}

static long sum_of(int threads, int nested) {
  long sum = 0;
#pragma omp parallel for schedule(dynamic, 7) num_threads(threads) reduction(+ : sum)
  for (int i = 0; i < 100; ++i) {
    long inner = i;
    if (nested > 0 && i == 50) inner += sum_of(2, nested - 1);
    sum += inner;
  }
  return sum;
}

/* Many short regions, nested deeper than teams are told apart, of different sizes, from several threads. */
static void* runs_regions(void* sum) {
  for (int i = 0; i < 100; ++i) *(long*)sum += sum_of(2 + i % 3, i % 50 == 0 ? 10 : 1);
  return NULL;
}

static int nests(void) {
  long sums[2] = {0, 0};
  omp_set_max_active_levels(12);
  pthread_t thread;
  pthread_create(&thread, NULL, runs_regions, &sums[1]);
  runs_regions(&sums[0]);
  pthread_join(thread, NULL);
  printf("%ld %ld\n", sums[0], sums[1]);
  return 0;
}

static long fibonacci(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a) if (n > 8)
  a = fibonacci(n - 1);
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

/* Tasks within tasks, depend, taskloop, ordered, sections, locks tried, and tasks that take part in a
   reduction, for which the library reads the region's data itself. */
static int tasks(void) {
  long number = 0, in_order = 0, tried = 0, chain = 1, reduced = 0;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(4)
  {
#pragma omp single
    number = fibonacci(18);
#pragma omp for ordered schedule(dynamic, 1) reduction(+ : in_order)
    for (int i = 0; i < 50; ++i) {
      long mine = 0;
#pragma omp ordered
      mine = i;
      in_order += mine;
    }
#pragma omp single
    {
      for (int i = 0; i < 10; ++i) {
#pragma omp task depend(inout : chain)
        chain = chain * 3 % 1000;
      }
#pragma omp taskgroup
      {
#pragma omp taskloop grainsize(5)
        for (int i = 0; i < 50; ++i) {
#pragma omp atomic
          tried += i;
        }
      }
    }
    for (int i = 0; i < 50; ++i) {
      if (omp_test_lock(&lock)) omp_unset_lock(&lock);
    }
#pragma omp sections
    {
#pragma omp section
      nap(30); /* long enough for the others to be sampled */
#pragma omp section
      nap(60);
    }
  }
#pragma omp parallel num_threads(4) reduction(task, + : reduced)
#pragma omp single
  for (int i = 0; i < 50; ++i) {
#pragma omp task in_reduction(+ : reduced)
    reduced += i;
  }
  printf("%ld %ld %ld %ld %ld\n", number, in_order, tried, chain, reduced);
  return 0;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*run)(void);
  } cases[] = {{"forks", forks}, {"exits", exits}, {"cancels", cancels}, {"errno", keeps_errno},
               {"jumps", jumps}, {"nests", nests}, {"tasks", tasks}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) return cases[i].run();
  }
  return 2;
}
