/* Truth: every way in which POSIX and C11 threads wait for each other, one after another: each kind of lock
 * that another thread holds, conditions and semaphores, and the end of a thread. Usage: thread_locks LOGDIR
 * [repetitions] [delay in ms] [scenario] */
#define _GNU_SOURCE
#include "truth_threads.h"

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

static pthread_barrier_t start;

static struct timespec soon(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  time.tv_sec += 60;
  return time;
}

static void after(void (*release)(void)) {
  truth_sleep(delay);
  truth_enter("release", "after");
  release();
  truth_exit();
  truth_enables(event);
}

/* The main thread holds the lock that another wants. */
static void hold(void (*take)(void), void (*release)(void), void* (*wants)(void*)) {
  pthread_t thread;
  ++event;
  take();
  pthread_create(&thread, NULL, wants, NULL);
  pthread_barrier_wait(&start);
  after(release);
  pthread_join(thread, NULL);
}

#define LOCK(name, take, wait, give)                      \
  static void name##_take(void) {                         \
    (void)(take);                                         \
  }                                                       \
  static void name##_give(void) {                         \
    (void)(give);                                         \
  }                                                       \
  static void* name##_waits(void* unused) {               \
    const struct timespec real = soon(CLOCK_REALTIME);    \
    const struct timespec steady = soon(CLOCK_MONOTONIC); \
    (void)real, (void)steady;                             \
    CALL(pthread_barrier_wait, &start);                   \
    truth_enter("lock", __func__);                        \
    (void)(wait);                                         \
    truth_exit();                                         \
    truth_awaits(TRUTH_LOCK_HELD, event);                 \
    name##_give();                                        \
    return unused;                                        \
  }                                                       \
  SCENARIO name(void) {                                   \
    hold(name##_take, name##_give, name##_waits);         \
  }

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive, checking, inheriting, robust;
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinning;
static mtx_t c11;

LOCK(mutex, pthread_mutex_lock(&plain), pthread_mutex_lock(&plain), pthread_mutex_unlock(&plain))
LOCK(mutex_timed, pthread_mutex_lock(&plain), pthread_mutex_timedlock(&plain, &real),
     pthread_mutex_unlock(&plain))
LOCK(mutex_clock, pthread_mutex_lock(&plain), pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &steady),
     pthread_mutex_unlock(&plain))
LOCK(mutex_recursive, pthread_mutex_lock(&recursive), pthread_mutex_lock(&recursive),
     pthread_mutex_unlock(&recursive))
LOCK(mutex_checking, pthread_mutex_lock(&checking), pthread_mutex_lock(&checking),
     pthread_mutex_unlock(&checking))
LOCK(mutex_inheriting, pthread_mutex_lock(&inheriting), pthread_mutex_lock(&inheriting),
     pthread_mutex_unlock(&inheriting))
LOCK(mutex_robust, pthread_mutex_lock(&robust), pthread_mutex_lock(&robust), pthread_mutex_unlock(&robust))
LOCK(reader, pthread_rwlock_wrlock(&readers), pthread_rwlock_rdlock(&readers),
     pthread_rwlock_unlock(&readers))
LOCK(writer, pthread_rwlock_rdlock(&readers), pthread_rwlock_wrlock(&readers),
     pthread_rwlock_unlock(&readers))
LOCK(reader_timed, pthread_rwlock_wrlock(&readers), pthread_rwlock_timedrdlock(&readers, &real),
     pthread_rwlock_unlock(&readers))
LOCK(writer_clock, pthread_rwlock_wrlock(&readers),
     pthread_rwlock_clockwrlock(&readers, CLOCK_MONOTONIC, &steady), pthread_rwlock_unlock(&readers))
LOCK(spin, pthread_spin_lock(&spinning), pthread_spin_lock(&spinning), pthread_spin_unlock(&spinning))
LOCK(c11_mutex, mtx_lock(&c11), mtx_lock(&c11), mtx_unlock(&c11))
LOCK(c11_mutex_timed, mtx_lock(&c11), mtx_timedlock(&c11, &real), mtx_unlock(&c11))

/* Another thread waits for what the main thread tells. */
static void tell(void (*signal)(void), void* (*waits)(void*)) {
  pthread_t thread;
  ++event;
  pthread_create(&thread, NULL, waits, NULL);
  pthread_barrier_wait(&start);
  after(signal);
  pthread_join(thread, NULL);
}

static int ready;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static cnd_t c11_condition;
static sem_t semaphore;

static void signal_posix(void) {
  pthread_mutex_lock(&plain);
  ready = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&plain);
}

static void signal_c11(void) {
  mtx_lock(&c11);
  ready = 1;
  cnd_signal(&c11_condition);
  mtx_unlock(&c11);
}

static void post(void) {
  ready = 1;
  sem_post(&semaphore);
}

#define CONDITION(name, enter, wait, leave, signal)       \
  static void* name##_waits(void* unused) {               \
    const struct timespec real = soon(CLOCK_REALTIME);    \
    const struct timespec steady = soon(CLOCK_MONOTONIC); \
    (void)real, (void)steady;                             \
    (void)(enter);                                        \
    CALL(pthread_barrier_wait, &start);                   \
    while (!ready) {                                      \
      truth_enter("condition", __func__);                 \
      (void)(wait);                                       \
      truth_exit();                                       \
      truth_awaits(TRUTH_CONDITION, event);               \
    }                                                     \
    (void)(leave);                                        \
    return unused;                                        \
  }                                                       \
  SCENARIO name(void) {                                   \
    ready = 0;                                            \
    tell(signal, name##_waits);                           \
  }

CONDITION(cond, pthread_mutex_lock(&plain), pthread_cond_wait(&condition, &plain),
          pthread_mutex_unlock(&plain), signal_posix)
CONDITION(cond_timed, pthread_mutex_lock(&plain), pthread_cond_timedwait(&condition, &plain, &real),
          pthread_mutex_unlock(&plain), signal_posix)
CONDITION(cond_clock, pthread_mutex_lock(&plain),
          pthread_cond_clockwait(&condition, &plain, CLOCK_MONOTONIC, &steady), pthread_mutex_unlock(&plain),
          signal_posix)
CONDITION(c11_cond, mtx_lock(&c11), cnd_wait(&c11_condition, &c11), mtx_unlock(&c11), signal_c11)
CONDITION(c11_cond_timed, mtx_lock(&c11), cnd_timedwait(&c11_condition, &c11, &real), mtx_unlock(&c11),
          signal_c11)
CONDITION(sem, 0, sem_wait(&semaphore), 0, post)
CONDITION(sem_timed, 0, sem_timedwait(&semaphore, &real), 0, post)
CONDITION(sem_clock, 0, sem_clockwait(&semaphore, CLOCK_MONOTONIC, &steady), 0, post)

static void* works(void* unused) {
  truth_sleep(delay);
  truth_enter("thread_end", __func__);
  truth_exit();
  truth_enables(event);
  return unused;
}

static int works_c11(void* unused) {
  works(unused);
  return 0;
}

#define JOIN(name, create, wait)                          \
  SCENARIO name(void) {                                   \
    pthread_t thread;                                     \
    const struct timespec real = soon(CLOCK_REALTIME);    \
    const struct timespec steady = soon(CLOCK_MONOTONIC); \
    (void)real, (void)steady;                             \
    ++event;                                              \
    (void)(create);                                       \
    truth_enter("join", __func__);                        \
    (void)(wait);                                         \
    truth_exit();                                         \
    truth_awaits(TRUTH_JOIN, event);                      \
  }

JOIN(join, pthread_create(&thread, NULL, works, NULL), pthread_join(thread, NULL))
JOIN(join_timed, pthread_create(&thread, NULL, works, NULL), pthread_timedjoin_np(thread, NULL, &real))
JOIN(join_clock, pthread_create(&thread, NULL, works, NULL),
     pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &steady))
JOIN(join_c11, thrd_create(&thread, works_c11, NULL), thrd_join(thread, NULL))

/* A thread that is cancelled while it waits works on in what it left to do: nothing of that is waiting. */
static void works_on(void* unused) {
  (void)unused;
  truth_enter("works_on", "works_on");
  truth_sleep(delay);
  truth_exit();
}

static void unlocks(void* unused) {
  (void)unused;
  pthread_mutex_unlock(&plain);
}

static void* waits_for_ever(void* unused) {
  pthread_mutex_lock(&plain);
  pthread_cleanup_push(works_on, NULL);
  pthread_cleanup_push(unlocks, NULL);
  pthread_barrier_wait(&start);
  for (;;) pthread_cond_wait(&condition, &plain);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return unused;
}

SCENARIO cancelled(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, waits_for_ever, NULL);
  pthread_barrier_wait(&start);
  pthread_cancel(thread);
  pthread_join(thread, NULL);
}

static void make_mutex(pthread_mutex_t* mutex, int type, int protocol, int robustness) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setprotocol(&attributes, protocol);
  pthread_mutexattr_setrobust(&attributes, robustness);
  pthread_mutex_init(mutex, &attributes);
}

static void make_locks(void) {
  make_mutex(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
  make_mutex(&checking, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
  make_mutex(&inheriting, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
  make_mutex(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
  pthread_spin_init(&spinning, PTHREAD_PROCESS_PRIVATE);
  pthread_barrier_init(&start, NULL, 2);
  mtx_init(&c11, mtx_timed);
  cnd_init(&c11_condition);
  sem_init(&semaphore, 0, 0);
}

int main(int argc, char** argv) {
  truth_begin(argc, argv);
  make_locks();
  RUN(mutex);
  RUN(mutex_timed);
  RUN(mutex_clock);
  RUN(mutex_recursive);
  RUN(mutex_checking);
  RUN(mutex_inheriting);
  RUN(mutex_robust);
  RUN(reader);
  RUN(writer);
  RUN(reader_timed);
  RUN(writer_clock);
  RUN(spin);
  RUN(c11_mutex);
  RUN(c11_mutex_timed);
  RUN(cond);
  RUN(cond_timed);
  RUN(cond_clock);
  RUN(c11_cond);
  RUN(c11_cond_timed);
  RUN(sem);
  RUN(sem_timed);
  RUN(sem_clock);
  RUN(join);
  RUN(join_timed);
  RUN(join_clock);
  RUN(join_c11);
  RUN(cancelled);
  return truth_end();
}
