#pragma once

#include <cstdint>

namespace culprit::machine {

__extension__ using Wide = unsigned __int128;

/// Whether the 16 bytes at `place` were `expected`, and are `desired` now. Else `expected` is what they are.
/// What is there is stored again where it was not expected: only a pair whose store succeeds was read at one
/// moment (Arm ARM, B2.2.1).
inline bool exchange_wide(Wide& place, Wide& expected, Wide desired) {
  const auto expected_low = static_cast<std::uint64_t>(expected);
  const auto expected_high = static_cast<std::uint64_t>(expected >> 64);
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t new_low = 0;
  std::uint64_t new_high = 0;
  std::uint32_t state = 0;
  __asm__ __volatile__(
      "1:\n\t"
      "ldaxp %[low], %[high], %[place]\n\t"
      "cmp %[low], %[expected_low]\n\t"
      "ccmp %[high], %[expected_high], #0, eq\n\t"
      "csel %[new_low], %[desired_low], %[low], eq\n\t"
      "csel %[new_high], %[desired_high], %[high], eq\n\t"
      "stlxp %w[state], %[new_low], %[new_high], %[place]\n\t"
      "cbnz %w[state], 1b\n\t"
      "cset %w[state], eq"
      : [low] "=&r"(low), [high] "=&r"(high), [new_low] "=&r"(new_low), [new_high] "=&r"(new_high),
        [state] "=&r"(state), [place] "+Q"(place)
      : [expected_low] "r"(expected_low), [expected_high] "r"(expected_high),
        [desired_low] "r"(static_cast<std::uint64_t>(desired)),
        [desired_high] "r"(static_cast<std::uint64_t>(desired >> 64))
      : "cc", "memory");
  if (state == 0) expected = Wide{high} << 64 | low;
  return state != 0;
}

}  // namespace culprit::machine
