#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

// MPI_Test and its like return at once, so no single call tells whether its thread waits. A thread that asks
// again right after it was told no does nothing else: it waits, spinning.
namespace culprit::mpi {

/// Ticks of a counter that is cheap to read and never stops, a few per nanosecond at most.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return 0;
#endif
}

/// One thread's last failed poll. Zero-initialized: none yet.
class PollHistory {
 public:
  /// Ticks between the end of a poll and the next that leave no room for work: about a microsecond (on
  /// architectures with slow counters more, which errs only for work of that length).
  static constexpr std::uint64_t kNoWork = 3000;

  [[nodiscard]] bool failed() const { return failed_at_ != 0; }
  /// Whether a poll that begins now follows a failed one without work in between.
  [[nodiscard]] bool spinning() const { return ticks() - failed_at_ < kNoWork; }
  void ended(bool successful) { failed_at_ = successful ? 0 : ticks(); }

 private:
  std::uint64_t failed_at_;
};

}  // namespace culprit::mpi
