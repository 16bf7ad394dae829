#pragma once

#include "machine/machine.hpp"
#include "runtime/system/clock.hpp"

#include <atomic>
#include <cstdint>

namespace culprit::runtime {

/// CLOCK_MONOTONIC by the processor's time stamp counter, at half the cost of asking for it: the last pair of
/// both clocks, and a rate. Only where the kernel itself keeps time by that counter, and while it is
/// calibrated again and again; else it is now(). Exact to the noise of one reading, some 20 ns.
class TickClock {
 public:
  /// Async-signal-safe, by any thread.
  [[nodiscard]] std::uint64_t read() const {
    const std::uint32_t before = changes_.load(std::memory_order_acquire);
    const std::uint64_t rate = rate_.load(std::memory_order_relaxed);
    if (rate == 0 || before % 2 != 0) return now();
    const std::uint64_t ticks = machine::ticks() - base_ticks_.load(std::memory_order_relaxed);
    const std::uint64_t base = base_ns_.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (changes_.load(std::memory_order_relaxed) != before) return now();
    // Too long ago; or another processor's counter is a little behind that of the base.
    if (ticks > kMostTicks) return now();
    return base + (ticks * rate >> kFraction);
  }

  /// By one thread, a few times per second.
  void calibrate();
  /// In a forked child, where another thread may have been calibrating.
  void forget();

 private:
  static constexpr unsigned kFraction = 30;
  /// Some seconds; times a rate of up to two ns per tick it fits 64 bits.
  static constexpr std::uint64_t kMostTicks = std::uint64_t{1} << 33;

  enum class Use : std::uint8_t { undecided, yes, no };

  std::atomic<std::uint32_t> changes_{0};  ///< odd in the middle of one
  std::atomic<std::uint64_t> rate_{0};     ///< ns per tick, in 2^-30; 0: not known
  std::atomic<std::uint64_t> base_ticks_{0}, base_ns_{0};
  Use use_ = Use::undecided;
};

inline constinit TickClock tick_clock;

}  // namespace culprit::runtime
