#pragma once

#include <bit>
#include <cstdint>

namespace culprit::machine {

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

}  // namespace culprit::machine
