/* The cost of locks that are free, in ns per pair of calls: the smallest of many batches. One line per lock.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

enum { kBatches = 400, kCalls = 5000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

#define MEASURE(name, take, give)                      \
  do {                                                 \
    double smallest = 1e9;                             \
    for (int batch = 0; batch < kBatches; ++batch) {   \
      const double begin = now();                      \
      for (int i = 0; i < kCalls; ++i) (take), (give); \
      const double each = (now() - begin) / kCalls;    \
      if (each < smallest) smallest = each;            \
    }                                                  \
    printf(name " %.1f\n", smallest);                  \
  } while (0)

int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, recursive;
  pthread_mutexattr_t attributes;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_spinlock_t spinning;
  sem_t semaphore;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  pthread_spin_init(&spinning, PTHREAD_PROCESS_PRIVATE);
  sem_init(&semaphore, 0, 1);
  MEASURE("mutex", pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex));
  pthread_mutex_lock(&recursive);
  MEASURE("mutex-again", pthread_mutex_lock(&recursive), pthread_mutex_unlock(&recursive));
  MEASURE("reader", pthread_rwlock_rdlock(&lock), pthread_rwlock_unlock(&lock));
  MEASURE("writer", pthread_rwlock_wrlock(&lock), pthread_rwlock_unlock(&lock));
  MEASURE("spin", pthread_spin_lock(&spinning), pthread_spin_unlock(&spinning));
  MEASURE("semaphore", sem_wait(&semaphore), sem_post(&semaphore));
  return 0;
}
