#pragma once

#include <cstdint>

namespace culprit::runtime {

/// What samples cost one thread (docs/algorithms.md 13). Some runs of the handler are timed with the thread's
/// CPU clock, from its first instruction to the arming of the next tick; with what a signal costs besides,
/// that stands for all of them. Where they take more than a tenth of the time that passes, the thread is to
/// be sampled at half the rate. Pure arithmetic, in zeroed memory; times in ns.
class HandlerCost {
 public:
  /// One run in this many is timed: reading the clock twice costs a quarter of a run.
  static constexpr std::uint64_t kEvery = 16;
  /// The first runs are timed each and stand for themselves: they create the file and compile the rules of
  /// the first paths, and say nothing about those to come.
  static constexpr std::uint64_t kFirst = 16;
  static constexpr std::uint64_t kNew = 4;
  /// Timed runs to a verdict, 256 runs in all: 1.3 s at 200 Hz, 26 ms at 10 kHz. Fewer would let chance
  /// decide, more would let a costly handler go on for longer.
  static constexpr std::uint64_t kWindow = 16;
  /// The handler is too costly where it takes more than one part in this many of the time.
  static constexpr std::uint64_t kShare = 10;

  void start() { *this = HandlerCost{}; }

  /// Begins a run. True: it is to be timed, and ended by end().
  bool begin() { return ++runs_ <= kFirst || runs_ % kEvery == 0; }

  /// The first few runs come in a burst where thousands of threads begin, and then wait.
  [[nodiscard]] bool is_new() const { return runs_ <= kNew; }

  struct Account {
    std::uint64_t ns = 0;     ///< to be charged: this run's time, or what it stands for
    bool too_costly = false;  ///< the last kWindow timed runs were
    bool usual = false;       ///< none of the first
  };

  /// Ends a timed run that took `ns`; `now` is CLOCK_MONOTONIC.
  Account end(std::uint64_t ns, std::uint64_t now) {
    if (runs_ <= kFirst) {
      begin_window(now);
      return {.ns = ns};
    }
    sum_ += ns;
    if (ns > largest_) largest_ = ns;
    const bool complete = ++timed_ == kWindow;
    const bool too_costly = complete && cost() > (now - since_) / kShare;
    if (complete) begin_window(now);
    return {.ns = ns * kEvery, .too_costly = too_costly, .usual = true};
  }

 private:
  void begin_window(std::uint64_t now) {
    since_ = now;
    sum_ = largest_ = timed_ = 0;
  }

  /// Of all the window's runs. The largest is left out: one page fault, or a virtual machine that was halted
  /// in the middle of it, is not what the handler costs.
  [[nodiscard]] std::uint64_t cost() const { return (sum_ - largest_) / (kWindow - 1) * (kWindow * kEvery); }

  std::uint64_t runs_ = 0;
  std::uint64_t since_ = 0;    ///< the window's start
  std::uint64_t sum_ = 0;      ///< of its timed runs
  std::uint64_t largest_ = 0;  ///< of them
  std::uint64_t timed_ = 0;    ///< how many they are
};

}  // namespace culprit::runtime
