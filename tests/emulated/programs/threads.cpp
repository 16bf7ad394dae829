// Time in threads, in handlers of exceptions and in virtual functions.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

struct Shape {
  virtual ~Shape() = default;
  virtual long work(long n) = 0;
};
struct Circle final : Shape {
  [[gnu::noinline]] long work(long n) override {
    long sum = 0;
    for (long i = 0; i < n * 1000; ++i) {
      sum += i * n;
      asm volatile("" : "+r"(sum));
    }
    return sum;
  }
};

[[gnu::noinline]] long thrower(Shape& shape, int depth) {
  if (depth == 0) throw std::runtime_error("as planned");
  const long sum = thrower(shape, depth - 1) + shape.work(2);
  asm volatile("");
  return sum;
}

[[gnu::noinline]] long catcher(Shape& shape) {
  try {
    return thrower(shape, 5);
  } catch (const std::exception&) {
    return shape.work(200);
  }
}

[[gnu::noinline]] void in_thread() {
  Circle circle;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) catcher(circle);
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(in_thread);
  for (std::thread& thread : threads) thread.join();
  std::puts("done");
}
