// Small and large allocations in changing order: signals inside malloc and the kernel's mmap.
#include "part.hpp"

#include <cstring>
#include <vector>

namespace stress {

std::uint64_t allocate_and_free() {
  std::vector<std::vector<unsigned char>> held(64);
  std::uint64_t state = 42;
  std::uint64_t sum = 1;
  for (unsigned i = 0; i < 2000; ++i) {
    state = digest(state, 1);
    auto& place = held[state % held.size()];
    for (const unsigned char byte : place) sum += byte;
    const bool large = i % 100 == 0;  // beyond the threshold where malloc maps memory
    place.assign(large ? 300'000 : state % 2000, static_cast<unsigned char>(state >> 32));
  }
  return sum;
}

}  // namespace stress
