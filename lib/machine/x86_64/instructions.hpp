#pragma once

#include <cstdint>

#include <cpuid.h>
#include <sys/syscall.h>

// Instructions that the compiler does not know, or would not choose.
namespace culprit::machine {

/// A system call of up to six arguments; returns the kernel's result.
// NOLINTNEXTLINE(readability-function-size): as many as the kernel takes
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) noexcept {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

/// Calls that not all processors have: numbers that no call has stand for those that are missing.
inline constexpr int kPoll = SYS_poll, kSelect = SYS_select, kEpollWait = SYS_epoll_wait, kPause = SYS_pause;

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

/// For functions that use take_bits(): there are the other instructions of BMI, too, counts and shifts of
/// bits that wait for nothing else.
#define CULPRIT_TAKES_BITS [[gnu::target("bmi,bmi2")]]

/// Whether this processor extracts bits in one instruction, and not in a hundred (AMD before Zen 3).
inline bool takes_bits() {
  return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("amdfam15h") &&
         !__builtin_cpu_is("amdfam17h");
}

/// The bits of `word` at the places that are set in `mask`, one behind the other.
inline std::uint64_t take_bits(std::uint64_t word, std::uint64_t mask) {
  std::uint64_t taken = 0;
  __asm__("pextq %2, %1, %0" : "=r"(taken) : "r"(word), "r"(mask));
  return taken;
}

}  // namespace culprit::machine
