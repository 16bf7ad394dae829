#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "truth_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct {
  const char* name;
  long call; /* index of the call that it belongs to; -1 for facts about the whole run */
  int numbers;
  int number[6];
} Fact;

typedef struct {
  const char* function;
  const char* label;
  long long enter, exit; /* exit is 0 while the call lasts */
  long preempted;        /* how often: all of the thread's, until the call has ended */
  long outer;            /* the call that this one happened in; -1 where there is none */
} Call;

/* The memory of one thread. Pages are touched ahead of use, so that logging costs no page fault. */
typedef struct Thread {
  struct Thread* next;
  int index;
  long open; /* the innermost call that lasts; -1 where there is none */
  long last; /* the call that facts belong to: the last that ended */
  long calls, call_space, facts, fact_space;
  Call* call;
  Fact* fact;
} Thread;

enum { kFirstCalls = 1 << 13, kFirstFacts = 1 << 14 };

static char log_directory[3072] = ".";
static int log_rank, log_ranks = 1;
static long long opened;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static Thread* threads;
static int thread_count;
static _Thread_local Thread* own;

long long truth_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* How often this thread was taken off its processor although it could have gone on. */
static long preemptions(void) {
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Memory for `to` items where there were `from`, the new part touched. */
static void* grown(void* memory, long from, long to, size_t size) {
  char* grown_memory = realloc(memory, (size_t)to * size);
  if (!grown_memory) {
    fprintf(stderr, "truth_log: out of memory\n");
    abort();
  }
  memset(grown_memory + (size_t)from * size, 0, (size_t)(to - from) * size);
  return grown_memory;
}

static Thread* this_thread(void) {
  if (own) return own;
  Thread* thread = grown(NULL, 0, 1, sizeof *thread);
  thread->open = thread->last = -1;
  thread->call_space = kFirstCalls;
  thread->fact_space = kFirstFacts;
  thread->call = grown(NULL, 0, kFirstCalls, sizeof(Call));
  thread->fact = grown(NULL, 0, kFirstFacts, sizeof(Fact));
  pthread_mutex_lock(&guard);
  thread->index = thread_count++;
  thread->next = threads;
  threads = thread;
  pthread_mutex_unlock(&guard);
  own = thread;
  return thread;
}

void truth_open(const char* directory) {
  snprintf(log_directory, sizeof log_directory, "%s", directory);
  this_thread();
  opened = truth_now();
}

void truth_rank(int rank, int ranks) {
  log_rank = rank;
  log_ranks = ranks;
}

void truth_enter(const char* function, const char* label) {
  Thread* thread = this_thread();
  if (thread->calls == thread->call_space) {
    thread->call = grown(thread->call, thread->call_space, 2 * thread->call_space, sizeof(Call));
    thread->call_space *= 2;
  }
  Call* call = &thread->call[thread->calls];
  call->function = function;
  call->label = label;
  call->outer = thread->open;
  thread->open = thread->calls++;
  call->preempted = preemptions();
  call->enter = truth_now();
}

void truth_exit(void) {
  const long long now = truth_now();
  own->last = own->open;
  Call* call = &own->call[own->open];
  call->exit = now;
  call->preempted = preemptions() - call->preempted;
  own->open = call->outer;
}

/* The one copy of a string that all calls share. */
static const char* kept(const char* text) {
  enum { kMost = 512 };
  static const char* known[kMost];
  static int count;
  pthread_mutex_lock(&guard);
  int i = 0;
  while (i < count && strcmp(known[i], text) != 0) ++i;
  if (i == kMost) {
    fprintf(stderr, "truth_log: more than %d different names\n", kMost);
    abort();
  }
  if (i == count) known[count++] = strdup(text);
  pthread_mutex_unlock(&guard);
  return known[i];
}

void truth_enter_copy(const char* function, const char* label) {
  truth_enter(kept(function), kept(label));
}

static void add(Thread* thread, const char* name, long call, int numbers, const int* number) {
  if (thread->facts == thread->fact_space) {
    thread->fact = grown(thread->fact, thread->fact_space, 2 * thread->fact_space, sizeof(Fact));
    thread->fact_space *= 2;
  }
  Fact* fact = &thread->fact[thread->facts++];
  fact->name = name;
  fact->call = call;
  fact->numbers = numbers;
  memcpy(fact->number, number, (size_t)numbers * sizeof *number);
}

#define FACT(name, ...)                                                             \
  do {                                                                              \
    const int numbers_[] = {__VA_ARGS__};                                           \
    add(own, name, own->last, (int)(sizeof numbers_ / sizeof *numbers_), numbers_); \
  } while (0)

void truth_sends(int operation, int destination, int tag, int communicator, int bytes, int mode) {
  FACT("sends", operation, destination, tag, communicator, bytes, mode);
}
void truth_receives(int operation, int source, int tag, int communicator, int bytes) {
  FACT("receives", operation, source, tag, communicator, bytes);
}
void truth_probes(int source, int tag, int communicator) {
  FACT("probes", source, tag, communicator);
}
void truth_completes(int operation) {
  FACT("completes", operation);
}
void truth_completes_from(int operation, int source, int tag) {
  FACT("completes", operation, source, tag);
}
void truth_collective(int kind, int communicator, int root, int operation) {
  FACT("collective", kind, communicator, root, operation);
}
void truth_rma(int window, int target, int bytes) {
  FACT("rma", window, target, bytes);
}
void truth_fence(int window) {
  FACT("fence", window);
}
void truth_post(int window, int origin) {
  FACT("post", window, origin);
}
void truth_start(int window, int target) {
  FACT("start", window, target);
}
void truth_complete(int window) {
  FACT("complete", window);
}
void truth_wait(int window) {
  FACT("wait", window);
}
void truth_lock(int window, int target, int exclusive) {
  FACT("lock", window, target, exclusive);
}
void truth_unlock(int window, int target) {
  FACT("unlock", window, target);
}
void truth_polls(int calls, long long first) {
  FACT("polls", calls, (int)(first - own->call[own->last].enter));
}
void truth_work(void) {
  FACT("work", 1);
}
void truth_awaits(int kind, int event) {
  FACT("awaits", kind, event);
}
void truth_enables(int event) {
  FACT("enables", event);
}
void truth_sees(int event) {
  FACT("sees", event);
}

void truth_communicator(int communicator, int members, const int* ranks) {
  for (int i = 0; i < members; ++i) {
    const int numbers[] = {communicator, ranks[i]};
    add(this_thread(), "communicator", -1, 2, numbers);
  }
}
void truth_window(int window, int communicator) {
  const int numbers[] = {window, communicator};
  add(this_thread(), "window", -1, 2, numbers);
}

static void write_fact(FILE* log, const Fact* fact) {
  fprintf(log, " %s:", fact->name);
  for (int i = 0; i < fact->numbers; ++i) fprintf(log, "%s%d", i ? "," : "", fact->number[i]);
}

/* Facts are in the order in which calls ended, which differs from that of their beginnings where calls are
 * nested: each call's facts lie together, somewhere. */
static void write_thread(FILE* log, const Thread* thread) {
  long* first = grown(NULL, 0, thread->calls + 1, sizeof *first); /* of each call's facts, plus one */
  for (long f = thread->facts - 1; f >= 0; --f) {
    if (thread->fact[f].call >= 0) first[thread->fact[f].call] = f + 1;
  }
  for (long c = 0; c < thread->calls; ++c) {
    const Call* call = &thread->call[c];
    fprintf(log, "call %d %lld %lld %s %s", thread->index, call->enter, call->exit, call->function,
            call->label);
    if (call->exit != 0 && call->preempted > 0) fprintf(log, " preempted:%ld", call->preempted);
    for (long f = first[c] - 1; f >= 0 && f < thread->facts && thread->fact[f].call == c; ++f) {
      write_fact(log, &thread->fact[f]);
    }
    fputc('\n', log);
  }
  free(first);
  for (long f = 0; f < thread->facts; ++f) {
    if (thread->fact[f].call >= 0) continue;
    fputs("run", log);
    write_fact(log, &thread->fact[f]);
    fputc('\n', log);
  }
}

void truth_write(void) {
  const long long written = truth_now();
  char name[4096];
  snprintf(name, sizeof name, "%s/truth-%d.log", log_directory, log_rank);
  FILE* log = fopen(name, "w");
  if (!log) {
    fprintf(stderr, "truth_log: %s: %s\n", name, strerror(errno));
    abort();
  }
  fprintf(log, "truth 1 rank %d of %d from %lld to %lld\n", log_rank, log_ranks, opened, written);
  pthread_mutex_lock(&guard);
  for (const Thread* thread = threads; thread; thread = thread->next) write_thread(log, thread);
  pthread_mutex_unlock(&guard);
  fprintf(log, "end\n");
  if (fclose(log) != 0) abort();
}

void truth_sleep(double milliseconds) {
  struct timespec left = {(time_t)(milliseconds / 1e3), 0};
  left.tv_nsec = (long)((milliseconds - 1e3 * (double)left.tv_sec) * 1e6);
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

void truth_compute(double milliseconds) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  const long long end = (long long)t.tv_sec * 1000000000LL + t.tv_nsec + (long long)(milliseconds * 1e6);
  volatile double sum = 0;
  do { /* looks at the clock every ten microseconds or so */
    for (int i = 1; i < 2000; ++i) sum += 1.0 / i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  } while ((long long)t.tv_sec * 1000000000LL + t.tv_nsec < end);
}
