#pragma once

#include <atomic>
#include <cstdint>

namespace culprit::runtime {

/// Keeps what sampling costs a whole process within a twentieth of its processors, however many threads it
/// has (docs/algorithms.md 13): counts the handler's runs of all threads, and where they cost more halves the
/// rate of all of them; where they cost far less for a while, doubles it again. Any thread, at once;
/// arithmetic on atomics, in zeroed memory; times in ns.
class Brake {
 public:
  /// Sampling may take this part of the processors: a twentieth.
  static constexpr std::uint64_t kShare = 20;
  /// Judged over so long at least, and two of the longest periods in force.
  static constexpr std::uint64_t kWindow = 50'000'000;
  /// Over so long where the rate is to come back: as far as sampling will take three quarters of its share at
  /// most, so that the two do not take turns.
  static constexpr std::uint64_t kEase = 250'000'000;
  /// Before this many runs were timed, `signal_ns` stands for them: one of the first that met a page fault,
  /// or a virtual machine that was halted, would decide alone.
  static constexpr std::uint64_t kTrusted = 8;
  /// Runs between two looks at the clock.
  static constexpr std::uint64_t kEvery = 32;

  /// `processors`: thousandths of one that the process has. `signal_ns`: what a run costs besides the
  /// handler.
  void start(std::uint64_t now, std::uint64_t period_ns, std::uint64_t processors, std::uint64_t signal_ns,
             std::uint32_t most_halvings) {
    since_.store(now, std::memory_order_relaxed);
    counted_.store(runs_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    halvings_.store(0, std::memory_order_relaxed);
    period_ = period_ns;
    processors_ = processors;
    signal_ns_ = signal_ns;
    most_ = most_halvings;
  }

  /// What a run costs besides the handler: the kernel's timer, delivery, and the way back.
  [[nodiscard]] std::uint64_t signal_ns() const { return signal_ns_; }

  /// One run cost `ns`, its signal included, as a sample of all of them.
  void time(std::uint64_t ns) {
    std::uint64_t largest = largest_.load(std::memory_order_relaxed);
    while (ns > largest && !largest_.compare_exchange_weak(largest, ns, std::memory_order_relaxed)) {
    }
    timed_ns_.fetch_add(ns, std::memory_order_relaxed);
    timed_.fetch_add(1, std::memory_order_relaxed);
  }

  /// Counts a run. True: judge() is to be called.
  bool count() { return (runs_.fetch_add(1, std::memory_order_relaxed) + 1) % kEvery == 0; }

  /// How often the rate is to be halved at present.
  [[nodiscard]] std::uint32_t halvings() const { return halvings_.load(std::memory_order_relaxed); }

  void judge(std::uint64_t now) {
    const std::uint64_t runs = runs_.load(std::memory_order_relaxed);
    std::uint64_t since = since_.load(std::memory_order_acquire);
    const std::uint32_t halvings = halvings_.load(std::memory_order_relaxed);
    const std::uint64_t settled = 2 * (period_ << halvings);
    if (now < since + (settled > kWindow ? settled : kWindow)) return;
    const std::uint64_t counted = counted_.load(std::memory_order_relaxed);
    const std::uint64_t cost = (runs > counted ? runs - counted : 0) * run_ns();
    const std::uint64_t share = (now - since) / 1000 * processors_ / kShare;
    if (cost <= share && now < since + kEase) return;
    // Whoever moves the window judges it.
    if (!since_.compare_exchange_strong(since, now, std::memory_order_acq_rel)) return;
    counted_.store(runs, std::memory_order_relaxed);
    if (cost > share) {
      if (halvings < most_) halvings_.store(halvings + 1, std::memory_order_relaxed);
    } else {
      halvings_.store(eased(halvings, cost, share), std::memory_order_relaxed);
    }
  }

 private:
  static std::uint32_t eased(std::uint32_t halvings, std::uint64_t cost, std::uint64_t share) {
    for (; halvings > 0 && 2 * cost <= share / 4 * 3; cost *= 2) --halvings;
    return halvings;
  }

  /// What one run costs on average, as far as it was timed; the largest is left out.
  [[nodiscard]] std::uint64_t run_ns() const {
    const std::uint64_t timed = timed_.load(std::memory_order_relaxed);
    if (timed < kTrusted) return signal_ns_;
    const std::uint64_t sum = timed_ns_.load(std::memory_order_relaxed);
    const std::uint64_t largest = largest_.load(std::memory_order_relaxed);
    return (sum > largest ? sum - largest : 0) / (timed - 1);
  }

  std::atomic<std::uint64_t> runs_{0};
  std::atomic<std::uint64_t> counted_{0};  ///< runs before the window
  std::atomic<std::uint64_t> since_{0};    ///< the window's start
  std::atomic<std::uint64_t> timed_{0}, timed_ns_{0}, largest_{0};
  std::atomic<std::uint32_t> halvings_{0};
  std::uint64_t period_ = 0;
  std::uint64_t processors_ = 0;
  std::uint64_t signal_ns_ = 0;
  std::uint32_t most_ = 0;
};

}  // namespace culprit::runtime
