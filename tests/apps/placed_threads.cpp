// 16 threads that stay in known places, until standard input ends: tests/integration/test_stacks.py.
#include <csignal>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

int nothing_comes[2];
std::mutex kept;
volatile double sink;

[[gnu::noinline]] void load_mesh() {
  char byte;
  if (read(nothing_comes[0], &byte, 1) < 0) std::perror("read");  // here: read
  sink = 1;
}

[[gnu::noinline]] void rest() {
  const timespec long_time = {3600, 0};
  if (nanosleep(&long_time, nullptr) != 0) std::perror("nanosleep");  // here: sleep
  sink = 1;
}

[[gnu::noinline]] void take_lock() {
  kept.lock();  // here: lock
  sink = 1;
}

inline void advance(double by) {
  for (;;) sink = sink * by + by;  // here: inlined
}

[[gnu::noinline]] void compute(double by) {
  if (by > 0) advance(by);
  sink = 1;
}

[[gnu::noinline]] void descend(int levels) {
  if (levels > 0) {
    descend(levels - 1);
  } else {
    rest();
  }
  sink = levels;
}

/// More than is copied of a stack lies between these frames.
[[gnu::noinline]] void keep_array() {
  volatile char array[4 << 20];
  array[sizeof array - 1] = 1;
  descend(200);
  sink = array[0];
}

void* first_frame(int kind) {
  if (kind < 5) load_mesh();
  if (kind >= 5 && kind < 10) rest();
  if (kind >= 10 && kind < 13) take_lock();
  if (kind == 13) compute(0.5);
  if (kind == 14) keep_array();
  return nullptr;
}

[[gnu::noinline]] void wait_for_end() {
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  sink = 1;
}

/// Runs on a stack of its own.
void handle(int) {
  wait_for_end();
  sink = 1;
}

[[gnu::noinline]] void be_interrupted() {
  static char stack[1 << 16];
  const stack_t other = {stack, 0, sizeof stack};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
  sink = 1;
}

}  // namespace

int main() {
  if (pipe(nothing_comes) != 0) return 1;
  kept.lock();
  std::vector<std::thread> threads;
  for (int kind = 0; kind < 15; ++kind) threads.emplace_back(first_frame, kind);
  std::puts("ready");
  std::fflush(stdout);
  be_interrupted();
  _exit(0);
}
