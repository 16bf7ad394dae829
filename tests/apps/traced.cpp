// Marks iterations in ways that a trace must survive; argument 1 tells which. Each iteration's number is in
// the trace once.
#include "culprit.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Marks, and tells when it did.
void mark(long number) {
  culprit_iteration(number);
  std::printf("%ld %.9f\n", number, now());
}

// 100 marks a second, then the end that nobody can prepare for.
void killed() {
  for (int i = 0; i < 300; ++i) {
    mark(i);
    usleep(10'000);
  }
  std::fflush(stdout);
  raise(SIGKILL);
}

void threads() {
  mark(0);
  for (int i = 1; i <= 200; i += 4) {
    std::vector<std::thread> some;
    for (int t = 0; t < 4; ++t) some.emplace_back(culprit_iteration, i + t);
    for (std::thread& thread : some) thread.join();
  }
}

void forks() {
  mark(1);
  std::fflush(stdout);
  if (fork() == 0) {
    mark(2);
    std::exit(0);
  }
  wait(nullptr);
  mark(3);
}

void execs(char** arguments) {
  mark(1);
  execl("/does/not/exist", "no", nullptr);
  mark(2);
  std::fflush(stdout);
  execl(arguments[0], arguments[0], "one", nullptr);
}

void stops() {
  mark(1);
  culprit_stop();
  culprit_iteration(2);
  culprit_start();
  mark(3);
}

// More marks than the trace may hold take less time than the first sample.
void flood() {
  for (long i = 0; i < 400'000; ++i) culprit_iteration(i);
  for (const double until = now() + 0.1; now() < until;) {
  }
}

// Marks on 4 096 call paths within milliseconds.
[[gnu::noinline]] long descend(int depth, long path) {
  if (depth == 0) {
    culprit_iteration(path);
    return 1;
  }
  const long left = descend(depth - 1, 2 * path);
  const long right = descend(depth - 1, 2 * path + 1);
  __asm__ volatile("");  // or the compiler makes a loop of the second call
  return left + right;
}

void paths() {
  if (descend(12, 0) != 4096) std::abort();
}

}  // namespace

int main(int /*argc*/, char** argv) {
  const char* mode = argv[1];
  if (std::strcmp(mode, "one") == 0) mark(7);
  if (std::strcmp(mode, "killed") == 0) killed();
  if (std::strcmp(mode, "threads") == 0) threads();
  if (std::strcmp(mode, "forks") == 0) forks();
  if (std::strcmp(mode, "execs") == 0) execs(argv);
  if (std::strcmp(mode, "stops") == 0) stops();
  if (std::strcmp(mode, "flood") == 0) flood();
  if (std::strcmp(mode, "paths") == 0) paths();
}
