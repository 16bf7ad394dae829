// Threads that come and go, by every way to end one: return, pthread_exit, cancellation, detached.
#include "part.hpp"

#include <atomic>
#include <climits>

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

namespace stress {
namespace {

constexpr unsigned kAtOnce = 10;
std::atomic<std::uint64_t> total{0};
std::atomic<unsigned> detached{0};

std::uint64_t number_of(void* argument) {
  return reinterpret_cast<std::uintptr_t>(argument);
}

void* work_and_return(void* argument) {
  total += digest(number_of(argument), 2000);
  return argument;
}

void* work_and_exit(void* argument) {
  total += digest(number_of(argument), 2000);
  pthread_exit(argument);
}

void* wait_for_cancellation(void* argument) {
  total += digest(number_of(argument), 2000);
  for (;;) pause();
}

void* work_detached(void* argument) {
  total += digest(number_of(argument), 2000);
  --detached;
  return nullptr;
}

pthread_t create(const pthread_attr_t* attributes, void* (*routine)(void*), std::uintptr_t number) {
  pthread_t thread{};
  if (pthread_create(&thread, attributes, routine, reinterpret_cast<void*>(number)) != 0) {
    fail("pthread_create");
  }
  return thread;
}

std::uint64_t join(pthread_t thread) {
  void* result = nullptr;
  if (pthread_join(thread, &result) != 0) fail("pthread_join");
  return number_of(result);
}

/// kAtOnce threads, of which one is cancelled and one is detached; some have the smallest stack there is.
std::uint64_t create_some(std::uintptr_t first) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN)));
  pthread_t threads[kAtOnce - 2];
  for (unsigned i = 0; i < kAtOnce - 2; ++i) {
    threads[i] =
        create(i % 2 == 0 ? &small : nullptr, i % 3 == 0 ? work_and_exit : work_and_return, first + i);
  }
  pthread_attr_destroy(&small);
  const pthread_t cancelled = create(nullptr, wait_for_cancellation, first + kAtOnce - 2);
  ++detached;
  pthread_detach(create(nullptr, work_detached, first + kAtOnce - 1));
  std::uint64_t sum = 1;
  for (const pthread_t thread : threads) fold(sum, join(thread));
  pthread_cancel(cancelled);
  fold(sum, join(cancelled));
  while (detached != 0) usleep(200);
  return sum;
}

}  // namespace

std::uint64_t create_and_end_threads() {
  static_assert(kThreadsPerRound % kAtOnce == 0);
  total = 0;
  std::uint64_t sum = 1;
  for (unsigned i = 0; i < kThreadsPerRound; i += kAtOnce) fold(sum, create_some(i + 1));
  return sum ^ total;
}

}  // namespace stress
