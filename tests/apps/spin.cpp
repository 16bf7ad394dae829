// Computes for the given number of seconds, then says so: a program without MPI. Usage: spin SECONDS
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const std::chrono::duration<double> length(argc > 1 ? std::atof(argv[1]) : 1.0);
  const auto end = std::chrono::steady_clock::now() + length;
  double sum = 0;
  while (std::chrono::steady_clock::now() < end)
    for (int i = 0; i < 1000; ++i) sum += std::sin(i + sum);
  std::puts(std::isfinite(sum) ? "done" : "lost");
}
