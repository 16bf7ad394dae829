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

/// One thread's polls. Asking costs some ten nanoseconds, and reading the counter as much again: where polls
/// are as short as that, one in kEvery is timed and speaks for those that follow. Zero-initialized: none yet.
class PollHistory {
 public:
  /// Ticks between the end of a poll and the next that leave no room for work: about a microsecond (on
  /// architectures with slow counters more, which errs only for work of that length).
  static constexpr std::uint64_t kNoWork = 3000;
  /// What is so short may be judged late by so many polls: less than 20 microseconds.
  static constexpr std::uint64_t kShort = 3000;
  static constexpr std::uint32_t kEvery = 16;

  /// Whether the last poll was answered with no.
  [[nodiscard]] bool failed() const { return failed_; }

  /// A poll begins after a failed one. True: without work in between, as far as the last timed one tells.
  bool spins() {
    if (failed_at_ == 0) return spinning_;
    begun_at_ = ticks();
    spinning_ = begun_at_ - failed_at_ < kNoWork;
    failed_at_ = 0;
    return spinning_;
  }

  void ended(bool successful) {
    failed_ = !successful;
    const bool timed = begun_at_ != 0;
    if (!timed && (successful || skipped_++ < skip_)) return;
    const std::uint64_t now = ticks();
    skipped_ = 0;
    if (timed) {
      skip_ = now - begun_at_ < kShort ? kEvery - 1 : 0;
      begun_at_ = 0;
      if (skip_ != 0) return;
    }
    if (failed_) failed_at_ = now;
  }

 private:
  std::uint64_t failed_at_;  ///< the end of the last poll; 0: not timed
  std::uint64_t begun_at_;   ///< the beginning of this poll; 0: not timed
  std::uint32_t skipped_;    ///< failed polls since the last that was timed
  std::uint32_t skip_;       ///< how many may be
  bool failed_;
  bool spinning_;
};

}  // namespace culprit::mpi
