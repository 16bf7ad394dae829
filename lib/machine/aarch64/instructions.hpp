#pragma once

#include <bit>
#include <cstdint>

#include <sys/syscall.h>

// Instructions that the compiler does not know, or would not choose.
namespace culprit::machine {

/// A system call of up to six arguments; returns the kernel's result.
// NOLINTNEXTLINE(readability-function-size): as many as the kernel takes
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) noexcept {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

/// Calls that not all processors have: numbers that no call has stand for those that are missing.
inline constexpr int kPoll = -1, kSelect = -2, kEpollWait = -3, kPause = -4;

/// Ticks of a counter that is cheap to read and never stops, two to four per nanosecond: the generic timer's,
/// which counts 25 million to a thousand million times per second, scaled by a power of two.
inline std::uint64_t ticks() noexcept {
  std::uint64_t count = 0;
  std::uint64_t frequency = 0;
  __asm__ volatile("mrs %0, cntvct_el0\n\tmrs %1, cntfrq_el0" : "=r"(count), "=r"(frequency));
  return count << std::countl_zero(static_cast<std::uint32_t>(frequency | 1));
}

/// A hint to the processor that this thread spins until another is done.
inline void pause() noexcept {
  __asm__ volatile("isb" : : : "memory");  // what `yield` does not do: it takes some time
}

/// The kernel's clock is that counter, read in the same way: there is nothing to gain.
inline constexpr const char* kTickSource = "";

inline bool ticks_are_steady() noexcept {
  return false;
}

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

#define CULPRIT_TAKES_BITS

/// There are no such instructions (but in SVE2).
inline bool takes_bits() {
  return false;
}
inline std::uint64_t take_bits(std::uint64_t /*word*/, std::uint64_t /*mask*/) {
  return 0;
}

}  // namespace culprit::machine
