// Deep and wide call paths: a recursive descent over a grammar-like tree of many small functions, 60 frames
// deep, and thousands of distinct contexts; then a reduction. For benchmarks of unwinding and merging. Usage:
// deep SECONDS [WALKS]; with WALKS it ends after that number of walks, however long they take
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <mpi.h>

namespace {

std::uint64_t state = 88172645463325252ULL;

std::uint64_t random_bits() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

using Rule = double (*)(int);
extern const std::array<Rule, 40> rules;

// Each instance is a function of its own, with two call sites of its own.
template <int N>
[[gnu::noinline]] double rule(int depth) {
  if (depth == 0) {
    double sum = N;
    for (int i = 1; i < 2000; ++i) sum += std::sin(sum + i);
    return sum;
  }
  // Mostly one successor, now and then another: many contexts, but not as many as there are walks.
  const std::uint64_t draw = random_bits() % 64;
  if (draw == 0) return rules[(N * 7 + 3) % rules.size()](depth - 1) + 1;
  if (draw == 1) return rules[(N * 11 + 5) % rules.size()](depth - 1) + 2;
  return rules[(N + 1) % rules.size()](depth - 1) * 0.5;
}

template <std::size_t... N>
constexpr std::array<Rule, sizeof...(N)> all_rules(std::index_sequence<N...>) {
  return {rule<static_cast<int>(N)>...};
}
const std::array<Rule, 40> rules = all_rules(std::make_index_sequence<40>());

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  state += static_cast<std::uint64_t>(rank) * 7919;
  const std::chrono::duration<double> length(argc > 1 ? std::atof(argv[1]) : 5.0);
  const auto end = std::chrono::steady_clock::now() + length;
  const long walks = argc > 2 ? std::atol(argv[2]) : 0;
  double sum = 0;
  for (long walk = 0; walks > 0 ? walk < walks : std::chrono::steady_clock::now() < end; ++walk)
    sum += rules[random_bits() % 4](54);
  double all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::puts(std::isfinite(all) ? "done" : "lost");
  MPI_Finalize();
}
