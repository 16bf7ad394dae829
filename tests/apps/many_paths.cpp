// Computes for the given number of seconds of CPU time on call paths that are hardly ever the same: a profile
// of it has as many contexts as samples, each 40 frames deep. A program without MPI. Usage: many_paths
// SECONDS
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

std::uint64_t state = 88172645463325252ULL;

std::uint64_t random_bits() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

// Four call sites: 4^40 paths.
[[gnu::noinline]] double descend(int depth) {
  if (depth == 0) {
    double sum = 0;
    for (int i = 1; i < 3000; ++i) sum += std::sin(sum + i);
    return sum;
  }
  switch (random_bits() >> 62) {
    case 0:
      return descend(depth - 1) + 1;
    case 1:
      return descend(depth - 1) * 0.5;
    case 2:
      return descend(depth - 1) - 3;
    default:
      return descend(depth - 1) / 7;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  const auto end = static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
  double sum = 0;
  while (std::clock() < end) sum += descend(40);
  std::puts(std::isfinite(sum) ? "done" : "lost");
}
