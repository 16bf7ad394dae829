#pragma once

#include <cstdint>

namespace culprit::machine {

__extension__ using Wide = unsigned __int128;

/// Whether the 16 bytes at `place` were `expected`, and are `desired` now. Else `expected` is what they are.
inline bool exchange_wide(Wide& place, Wide& expected, Wide desired) {
  auto low = static_cast<std::uint64_t>(expected);
  auto high = static_cast<std::uint64_t>(expected >> 64);
  bool done = false;
  __asm__ __volatile__("lock cmpxchg16b %1"
                       : "=@ccz"(done), "+m"(place), "+a"(low), "+d"(high)
                       : "b"(static_cast<std::uint64_t>(desired)),
                         "c"(static_cast<std::uint64_t>(desired >> 64))
                       : "memory");
  if (!done) expected = Wide{high} << 64 | low;
  return done;
}

}  // namespace culprit::machine
