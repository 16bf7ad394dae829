// setjmp and longjmp over many frames, with and without the signal mask.
#include "part.hpp"

#include <csetjmp>

namespace stress {
namespace {

thread_local jmp_buf place;
thread_local sigjmp_buf signal_place;

__attribute__((noinline)) std::uint64_t descend(std::uint64_t seed, unsigned depth, bool with_mask) {
  const std::uint64_t mixed = digest(seed, 20);
  if (depth == 0) {
    if (with_mask) siglongjmp(signal_place, static_cast<int>(mixed % 1000) + 1);
    longjmp(place, static_cast<int>(mixed % 1000) + 1);
  }
  return descend(mixed, depth - 1, with_mask) + 1;
}

__attribute__((noinline)) std::uint64_t there_and_back(unsigned i) {
  const int value = i % 2 == 0 ? sigsetjmp(signal_place, 1) : setjmp(place);
  if (value == 0) descend(i, i % 50, i % 2 == 0);
  return static_cast<std::uint64_t>(value);
}

}  // namespace

std::uint64_t jump_out() {
  std::uint64_t sum = 1;
  for (unsigned i = 0; i < 2000; ++i) fold(sum, there_and_back(i));
  return sum;
}

}  // namespace stress
