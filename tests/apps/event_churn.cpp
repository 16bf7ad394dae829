// Threads that come and go, children that compute, children that exec, and a handler for every real-time
// signal: what counters and their signals must not disturb. Its output is the same, measured or not.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

volatile std::uint64_t sink;
volatile int seen = 0;

void count_signal(int /*signal*/) {
  seen = seen + 1;
}

__attribute__((noinline)) void work(int millions) {
  for (int i = 0; i < millions * 1'000'000; ++i) sink = sink + static_cast<std::uint64_t>(i);
}

__attribute__((noinline)) void work_in_child() {
  work(60);
  sink = sink + 1;  // not a tail call: this function shall be on the stack
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void churn(int round) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back([] { work(2); });
  if (round % 5 == 0) {
    const pid_t child = fork();
    if (child == 0) {
      work_in_child();
      _exit(3);
    }
    std::printf("child: %x\n", static_cast<unsigned>(wait_for(child)));
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) std::signal(signal, count_signal);
  for (int round = 0; round < 15; ++round) churn(round);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) std::raise(signal);
  std::printf("signals: %s\n", seen == SIGRTMAX - SIGRTMIN + 1 ? "each once" : "lost or made up");
  std::fflush(stdout);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      work(1);
      execl("/bin/true", "true", static_cast<char*>(nullptr));
      _exit(9);
    }
    std::printf("exec: %x\n", static_cast<unsigned>(wait_for(child)));
    std::fflush(stdout);
  }
  return 0;
}
