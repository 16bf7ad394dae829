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

}  // namespace

std::uint64_t jump_out() {
  volatile std::uint64_t sum = 1;
  for (volatile unsigned i = 0; i < 2000; i = i + 1) {
    const bool with_mask = i % 2 == 0;
    const int value = with_mask ? sigsetjmp(signal_place, 1) : setjmp(place);
    if (value == 0) descend(i, i % 50, with_mask);
    std::uint64_t next = sum;
    fold(next, static_cast<std::uint64_t>(value));
    sum = next;
  }
  return sum;
}

}  // namespace stress
