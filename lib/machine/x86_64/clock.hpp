#pragma once

#include <cstdint>

#include <cpuid.h>

namespace culprit::machine {

/// Ticks of a counter that is cheap to read and never stops, a few per nanosecond at most.
inline std::uint64_t ticks() noexcept {
  return __builtin_ia32_rdtsc();
}

/// A hint to the processor that this thread spins until another is done.
inline void pause() noexcept {
  __builtin_ia32_pause();
}

/// Where the kernel keeps time by that counter, the name that it gives to it as a clock source.
inline constexpr const char* kTickSource = "tsc\n";

/// Whether the counter runs at one rate whatever the processor does.
inline bool ticks_are_steady() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kPowerManagement = 0x80000007, kInvariant = 1U << 8;
  return __get_cpuid(kPowerManagement, &a, &b, &c, &d) != 0 && (d & kInvariant) != 0;
}

}  // namespace culprit::machine
