// few_timers THREADS: the main thread computes, and before it starts its threads gives up the signals that
// may be pending, without which there are no timers.
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sys/resource.h>

namespace {

void compute() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  volatile double sum = 0;
  while (std::chrono::steady_clock::now() < until) sum = sum + 1;
}

}  // namespace

int main(int /*count*/, char** arguments) {
  compute();
  const rlimit none{0, 0};
  setrlimit(RLIMIT_SIGPENDING, &none);
  std::vector<std::thread> threads;
  for (int i = std::atoi(arguments[1]); i > 0; --i) threads.emplace_back(compute);
  for (std::thread& thread : threads) thread.join();
}
