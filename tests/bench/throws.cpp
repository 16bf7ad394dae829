// What a throw costs: prints the nanoseconds of the fastest of many batches, thrown through `depth` frames.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

namespace {

constexpr int kDepth = 10;
constexpr int kBatches = 200;
constexpr int kThrows = 1000;

__attribute__((noinline)) void throw_from(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  throw_from(depth - 1);
  __asm__ volatile("");  // no tail call
}

}  // namespace

int main() {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto begin = Clock::now();
    for (int i = 0; i < kThrows; ++i) {
      try {
        throw_from(kDepth);
      } catch (const std::exception&) {
      }
    }
    const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
    best = std::min(best, time.count() / kThrows);
  }
  std::printf("%.0f\n", best);
}
