// Waits that something breaks into: broken_waits stop|vfork|jump|handler|alternate|exit|timers|churn. Prints
// by name how many seconds its functions took as they should be found; timers and churn print what became of
// them.
#include "culprit.h"
#include "raw_wait.hpp"

#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

sem_t semaphore;
std::atomic<int> step{0};
sigjmp_buf out_of_wait;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void say(const char* name, double seconds) {
  std::printf("%s %.6f\n", name, seconds);
}

// None of these may end in a jump in the place of a call: their frames are looked for.
extern "C" __attribute__((noinline)) void waits_first() {
  while (step.load() == 0) raw_futex(&step, FUTEX_WAIT_PRIVATE, 0);
  __asm__ volatile("");
}
extern "C" __attribute__((noinline)) void waits_second() {
  while (step.load() == 1) raw_futex(&step, FUTEX_WAIT_PRIVATE, 1);
  __asm__ volatile("");
}
extern "C" __attribute__((noinline)) void waits_raw(milliseconds length) {
  raw_wait(length);
  __asm__ volatile("");
}
extern "C" __attribute__((noinline)) void waits_for_child(pid_t child) {
  waitpid(child, nullptr, 0);
  __asm__ volatile("");
}
extern "C" __attribute__((noinline)) void works(milliseconds length) {
  for (const Clock::time_point end = Clock::now() + length; Clock::now() < end;) {
  }
  __asm__ volatile("");
}
extern "C" __attribute__((noinline)) void waits_in_sem() {
  while (sem_wait(&semaphore) != 0) {
  }
  __asm__ volatile("");
}

void go_on(int to) {
  step.store(to);
  raw_futex(&step, FUTEX_WAKE_PRIVATE, 1 << 30);
}

/// The stop begins in one wait and ends in the next.
void stop() {
  pthread_t thread;
  const auto wait = [](void*) -> void* {
    waits_first();
    waits_second();
    return nullptr;
  };
  const Clock::time_point begin = Clock::now();
  pthread_create(&thread, nullptr, wait, nullptr);
  raw_wait(milliseconds(1500));
  culprit_stop();
  say("waits_first", seconds_since(begin));
  raw_wait(milliseconds(200));
  go_on(1);
  raw_wait(milliseconds(2000));
  const Clock::time_point again = Clock::now();
  culprit_start();
  raw_wait(milliseconds(1000));
  go_on(2);
  pthread_join(thread, nullptr);
  say("waits_second", seconds_since(again));
}

/// The child shares the parent's memory, and calls what is interposed.
void fork_in_place() {
  const int file = open("/dev/null", O_RDONLY);
  waits_raw(milliseconds(700));
  const pid_t child = vfork();
  if (child == 0) {
    char byte = 0;
    const ssize_t got = read(file, &byte, 1);
    execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(got == 0 ? 1 : 2);
  }
  works(milliseconds(1500));
  waitpid(child, nullptr, 0);
  say("waits_raw", 0.7);
  say("works", 1.5);
}

/// A handler jumps out of a wait, and the thread goes on to another.
void jump() {
  const pid_t child = fork();
  if (child == 0) {
    raw_wait(milliseconds(2500));
    _exit(0);
  }
  signal(SIGALRM, [](int) { siglongjmp(out_of_wait, 1); });
  alarm(1);
  const Clock::time_point begin = Clock::now();
  if (sigsetjmp(out_of_wait, 1) == 0) waits_in_sem();
  say("waits_in_sem", seconds_since(begin));
  const Clock::time_point later = Clock::now();
  waits_for_child(child);
  say("waits_for_child", seconds_since(later));
}

std::atomic<double> handled{0};

/// A handler works and waits in the middle of a wait.
void handler() {
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int) {
    const Clock::time_point begin = Clock::now();
    works(milliseconds(30));
    waits_raw(milliseconds(50));
    handled = seconds_since(begin);
  };
  sigaction(SIGALRM, &action, nullptr);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarms, nullptr);
  pthread_t thread;
  const auto post = [](void*) -> void* {
    raw_wait(milliseconds(3000));
    sem_post(&semaphore);
    return nullptr;
  };
  pthread_create(&thread, nullptr, post, nullptr);
  pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
  alarm(1);
  const Clock::time_point begin = Clock::now();
  waits_in_sem();
  say("waits_in_sem", seconds_since(begin));
  pthread_join(thread, nullptr);
  say("waits_raw", 0.05);
}

/// The same on a stack of the handler's own, which lies above that of the thread: early in a wait.
void alternate() {
  constexpr std::size_t kStack = 1 << 20;
  static char stacks[2][kStack];  // the lower one is the thread's
  struct sigaction action {};
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  action.sa_handler = [](int) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20'000'000;
    until.tv_sec += until.tv_nsec / 1'000'000'000;
    until.tv_nsec %= 1'000'000'000;
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&never, &mutex, &until);
    pthread_mutex_unlock(&mutex);
  };
  sigaction(SIGUSR1, &action, nullptr);
  static double waited;
  const auto wait = [](void*) -> void* {
    stack_t own{.ss_sp = stacks[1], .ss_flags = 0, .ss_size = kStack};
    sigaltstack(&own, nullptr);
    const Clock::time_point begin = Clock::now();
    waits_in_sem();
    waited = seconds_since(begin);
    own.ss_flags = SS_DISABLE;
    sigaltstack(&own, nullptr);
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stacks[0], kStack);
  pthread_t thread;
  pthread_create(&thread, &attributes, wait, nullptr);
  raw_wait(milliseconds(400));
  pthread_kill(thread, SIGUSR1);
  raw_wait(milliseconds(1400));
  sem_post(&semaphore);
  pthread_join(thread, nullptr);
  say("waits_in_sem", waited);
}

/// Threads that still wait when the process ends.
void end() {
  constexpr int kThreads = 3;
  pthread_t thread;
  const auto wait = [](void*) -> void* {
    waits_in_sem();
    return nullptr;
  };
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < kThreads; ++i) pthread_create(&thread, nullptr, wait, nullptr);
  works(milliseconds(1500));
  say("waits_in_sem", kThreads * seconds_since(begin));
}

/// Of the timers that the user may have, enough are left to the program.
void timers() {
  constexpr int kThreads = 60, kTimers = 20;
  pthread_t threads[kThreads];
  const auto wait = [](void*) -> void* {
    waits_in_sem();
    return nullptr;
  };
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, wait, nullptr);
  raw_wait(milliseconds(500));
  int made = 0;
  for (int i = 0; i < kTimers; ++i) {
    timer_t timer{};
    sigevent notify{};
    notify.sigev_notify = SIGEV_SIGNAL;
    notify.sigev_signo = SIGUSR1;
    made += timer_create(CLOCK_MONOTONIC, &notify, &timer) == 0 ? 1 : 0;
  }
  std::printf("%d of %d timers\n", made, kTimers);
  for (int i = 0; i < kThreads; ++i) sem_post(&semaphore);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

long resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  return 0;
}

/// Threads of which each makes others, one after the other.
void churn() {
  constexpr int kCreators = 8;
  static std::atomic<bool> stopped{false};
  pthread_t creators[kCreators];
  const auto create = [](void*) -> void* {
    const auto nothing = [](void*) -> void* { return nullptr; };
    for (pthread_t one; !stopped && pthread_create(&one, nullptr, nothing, nullptr) == 0;)
      pthread_join(one, nullptr);
    return nullptr;
  };
  for (pthread_t& creator : creators) pthread_create(&creator, nullptr, create, nullptr);
  raw_wait(milliseconds(1000));
  const long before = resident_kb();
  raw_wait(milliseconds(4000));
  std::printf("grew by %ld kB\n", resident_kb() - before);
  stopped = true;
  for (const pthread_t creator : creators) pthread_join(creator, nullptr);
}

constexpr struct {
  const char* name;
  void (*run)();
} kModes[] = {{"stop", stop},       {"vfork", fork_in_place}, {"jump", jump},
              {"handler", handler}, {"alternate", alternate}, {"exit", end},
              {"timers", timers},   {"churn", churn}};

}  // namespace

int main(int count, char** arguments) {
  sem_init(&semaphore, 0, 0);
  for (const auto& mode : kModes) {
    if (count != 2 || std::strcmp(arguments[1], mode.name) != 0) continue;
    mode.run();
    return 0;
  }
  std::fprintf(stderr, "usage: broken_waits stop|vfork|jump|handler|alternate|exit|timers|churn\n");
  return 2;
}
