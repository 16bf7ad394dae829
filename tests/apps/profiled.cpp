// Built with -pg: computes for a moment in two functions, one of which does nine tenths of the work.
#include <cstdint>
#include <cstdio>

namespace {

std::uint64_t digest(std::uint64_t seed, long steps) {
  for (long i = 0; i < steps; ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
  }
  return seed;
}

}  // namespace

extern "C" __attribute__((noinline)) std::uint64_t much(std::uint64_t seed) {
  return digest(seed, 9'000'000);
}

extern "C" __attribute__((noinline)) std::uint64_t little(std::uint64_t seed) {
  return digest(seed, 1'000'000);
}

int main() {
  std::uint64_t sum = 1;
  for (int i = 0; i < 80; ++i) sum = little(much(sum));
  std::printf("%llx\n", static_cast<unsigned long long>(sum));
}
