// std::threads that run five different things, all started by the same routine of the C++ library: two
// functions by pointer, a pool of four by a lambda that calls several functions, a member function, and a
// task of std::async.
#include <future>
#include <thread>
#include <vector>

namespace {

volatile double sink;

[[gnu::noinline]] double spin(long n) {
  for (long i = 0; i < n * 10'000'000; ++i) sink = sink + 1;
  return sink;
}
[[gnu::noinline]] double spin_more(long n) {
  return spin(2 * n);
}

}  // namespace

// Something comes behind the calls: by a jump they would leave their callers out of all stacks.
void watch() {
  sink = spin(4) / 2;
}
void log_all() {
  sink = spin(4) / 3;
}

struct Reader {
  void read() const { sink = spin(4) / 4; }
};

int main() {
  std::vector<std::thread> threads;
  for (long i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      spin(i + 1);
      if (i > 1) spin_more(1);
    });
  }
  const Reader reader;
  threads.emplace_back(watch);
  threads.emplace_back(log_all);
  threads.emplace_back(&Reader::read, &reader);
  auto task = std::async(std::launch::async, [] {
    spin(3);
    return 1;
  });
  for (std::thread& each : threads) each.join();
  return task.get() - 1;
}
