// How many threads of a team are idle and how many work, and the integral over time of their ratio
// (docs/algorithms.md 12). The integral is kept as a line: at time t it is base + rate · t, modulo 2^90, with
// rate = idle / working in 2^-32. A change of the counts at time t adds (rate before - rate after) · t to the
// base, so that changes need no order among themselves: each has its own time, whenever it is made. Counts
// and base are 16 bytes, changed by one compare-and-swap. Cost: that and some ns (docs/figures.md, Threads of
// a process).
#pragma once

#include "machine/machine.hpp"

#include <atomic>
#include <cstdint>

namespace culprit::runtime {

using machine::exchange_wide;
using machine::Wide;
__extension__ using SignedWide = __int128;

/// The 16 bytes at `place`, as they were at one moment: neither half changed from the first look at both to
/// the second.
inline Wide load_wide(const Wide& place) {
  const auto* halves = reinterpret_cast<const std::uint64_t*>(&place);
  for (;;) {
    const std::uint64_t low = __atomic_load_n(&halves[0], __ATOMIC_ACQUIRE);
    const std::uint64_t high = __atomic_load_n(&halves[1], __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&halves[0], __ATOMIC_ACQUIRE) == low &&
        __atomic_load_n(&halves[1], __ATOMIC_RELAXED) == high)
      return Wide{high} << 64 | low;
  }
}

/// What each working thread bears of one that idles, by the number of working threads, in 2^-32: a division
/// takes longer than all the rest.
struct IdleShares {
  static constexpr int kTabulated = 64;
  std::int64_t of[kTabulated];

  static constexpr std::int64_t share(int workers) { return (std::int64_t{1} << 32) / workers; }
  constexpr IdleShares() : of{} {
    for (int workers = 1; workers < kTabulated; ++workers) of[workers] = share(workers);
  }
};
inline constexpr IdleShares kIdleShares;

/// What a Level was at one moment.
class LevelState {
 public:
  static constexpr unsigned kCountBits = 15, kGenerationBits = 8;
  static constexpr unsigned kBaseShift = 2 * kCountBits + kGenerationBits;
  static constexpr unsigned kFraction = 32;  ///< bits of a value behind the ns

  constexpr explicit LevelState(Wide word) : word_(word) {}
  constexpr LevelState(Wide base, std::uint8_t generation, int idle, int working)
      : word_(base << kBaseShift | Wide{generation} << (2 * kCountBits) |
              Wide{static_cast<unsigned>(idle) & kCountMask} << kCountBits |
              (static_cast<unsigned>(working) & kCountMask)) {}

  [[nodiscard]] constexpr Wide word() const { return word_; }
  /// Threads that work here; counted by each for itself, so never negative.
  [[nodiscard]] constexpr int working() const { return static_cast<int>(low() & kCountMask); }
  /// Threads that idle here; negative while one that left is counted and one that came is not yet.
  [[nodiscard]] constexpr int idle() const {
    const auto bits = static_cast<unsigned>(low() >> kCountBits) & kCountMask;
    return static_cast<int>(bits ^ kCountSign) - static_cast<int>(kCountSign);
  }
  [[nodiscard]] constexpr std::uint8_t generation() const {
    return static_cast<std::uint8_t>(low() >> (2 * kCountBits));
  }
  /// Idle threads per working one, in 2^-32; 0 where nobody works: the level above bears them then.
  [[nodiscard]] constexpr std::int64_t rate() const {
    const int idlers = idle(), workers = working();
    if (idlers == 0) return 0;
    if (workers < IdleShares::kTabulated) [[likely]]
      return idlers * kIdleShares.of[workers];
    return idlers * IdleShares::share(workers);
  }
  /// What the level above bears of the idle threads.
  [[nodiscard]] constexpr int passed_on() const { return working() == 0 ? idle() : 0; }
  /// The integral at `time`, in 2^-32 ns; only differences mean anything (since()).
  [[nodiscard]] constexpr Wide value(std::uint64_t time) const {
    return (word_ >> kBaseShift) + static_cast<Wide>(static_cast<SignedWide>(rate()) * time);
  }
  [[nodiscard]] constexpr LevelState changed(std::uint64_t time, int idle_more, int working_more) const {
    const LevelState counts(0, generation(), idle() + idle_more, working() + working_more);
    const SignedWide turn = static_cast<SignedWide>(rate() - counts.rate()) * time;
    return {(word_ >> kBaseShift) + static_cast<Wide>(turn), generation(), counts.idle(), counts.working()};
  }

 private:
  static constexpr unsigned kCountMask = (1U << kCountBits) - 1, kCountSign = 1U << (kCountBits - 1);
  [[nodiscard]] constexpr std::uint64_t low() const { return static_cast<std::uint64_t>(word_); }

  Wide word_;
};

/// By how much the integral grew from one value to the next, in 2^-32 ns.
constexpr SignedWide since(Wide before, Wide after) {
  return static_cast<SignedWide>((after - before) << LevelState::kBaseShift) >> LevelState::kBaseShift;
}

/// Shared by all threads; lock-free and async-signal-safe.
class Level {
 public:
  [[nodiscard]] LevelState load() const { return LevelState(load_wide(word_)); }

  /// Changes the counts from `time` on, if it is (still) of this generation. `before`: what it was; `passed`:
  /// how many more idle threads the level above bears.
  bool change(std::uint8_t generation, std::uint64_t time, int idle, int working, LevelState& before,
              int& passed) {
    Wide word = load_wide(word_);
    for (;;) {
      before = LevelState(word);
      if (before.generation() != generation) return false;
      const LevelState after = before.changed(time, idle, working);
      if (exchange_wide(word_, word, after.word())) {
        passed = after.passed_on() - before.passed_on();
        return true;
      }
      stand_back();
    }
  }

  /// Begins a generation, an odd one, in which one thread works; returns it. Between two the number is even:
  /// then nothing counts of a thread that idles on since one of 128 generations before.
  std::uint8_t begin() { return static_cast<std::uint8_t>(renew(1).generation() + 1); }
  /// Ends the generation: nobody is counted here any more. Returns what it was.
  LevelState end() { return renew(0); }

  /// While no other thread is there, and no generation.
  void reset(int idle, int working) {
    const unsigned generation = load().generation() + 1U;
    word_ = LevelState(0, static_cast<std::uint8_t>(generation & ~1U), idle, working).word();
  }

 private:
  /// Turns to the next number. Returns what it was.
  LevelState renew(int working) {
    Wide word = load_wide(word_);
    for (;;) {
      const LevelState before(word);
      const LevelState next(0, static_cast<std::uint8_t>(before.generation() + 1), 0, working);
      if (exchange_wide(word_, word, next.word())) return before;
      stand_back();
    }
  }

  /// Another thread was faster: a team's threads meet at barriers, and would hold each other up.
  static void stand_back() { machine::pause(); }

  alignas(16) Wide word_ = 0;
};

}  // namespace culprit::runtime
