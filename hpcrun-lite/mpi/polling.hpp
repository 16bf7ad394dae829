#pragma once

#include "machine/machine.hpp"

#include <cstdint>
#include <ctime>

// MPI_Test and its like return at once, so no single call says whether its thread waits (docs/algorithms.md
// 5.1). A thread that asks again right after a poll that found nothing does nothing else: it waits, spinning.
namespace culprit::mpi {

/// What a thread reads when it asks whether it did nothing but poll.
struct ThreadClocks {
  static std::uint64_t ticks() { return machine::ticks(); }
  static std::uint64_t passed_ns() { return read(CLOCK_MONOTONIC); }
  /// A system call of some hundred nanoseconds, on virtual machines up to a microsecond.
  static std::uint64_t used_ns() { return read(CLOCK_THREAD_CPUTIME_ID); }

 private:
  static std::uint64_t read(clockid_t clock) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
  }
};

/// One thread's polls. A series of them in vain is a spin as long as nothing but polling happens between
/// them: the gap between two is shorter than any work, or the thread hardly ran in it (its processor went to
/// somebody else, or a signal was handled). Asking costs some ten nanoseconds, and reading the counter as
/// much again: where polls are as short as that, one in kEvery is timed and speaks for those that follow.
/// Zero-initialized: none yet.
template <typename Clocks>
class Polls {
 public:
  /// Ticks between the end of a poll and the next that leave no room for work: about a microsecond (on
  /// architectures with slow counters more, which errs only for work of that length).
  static constexpr std::uint64_t kNoWork = 3000;
  /// What is so short may be judged late by this many polls: less than 20 microseconds.
  static constexpr std::uint64_t kShort = 3000;
  static constexpr std::uint32_t kEvery = 16;
  /// Ticks for which a reading of the thread's CPU time is good enough to say what it did later: about 100
  /// microseconds, of which reading it again is a percent.
  static constexpr std::uint64_t kFresh = 300'000;
  /// CPU time that goes by in a spin without the program's doing: a switch to another thread and back, with
  /// the caches that this costs (30 to 50 microseconds were seen on virtual machines); a sample that is
  /// taken. And of the spin's length, one part in this many.
  static constexpr std::uint64_t kUsedOnce = 60'000;
  static constexpr std::uint64_t kUsedPart = 64;
  /// A gap of which the thread used no more than one part in this many was a nap, such as of a millisecond
  /// after each poll, which costs a switch every time.
  static constexpr std::uint64_t kNapPart = 16;

  /// Whether the last poll was answered with no.
  [[nodiscard]] bool failed() const { return failed_; }

  /// A poll begins after a failed one. True: without work in between, as far as the last timed one shows.
  bool spins() {
    if (failed_at_ == 0) return spinning_;
    begun_at_ = Clocks::ticks();
    const bool at_once = begun_at_ - failed_at_ < kNoWork;
    const bool spinning = at_once || (read_at_ != 0 && idle());
    if (first_) works_ = !spinning;
    first_ = false;
    if (!spinning) spun_since_ns_ = forgiven_ns_ = 0;
    if (!at_once) read_at_ = 0;
    spinning_ = spinning;
    failed_at_ = 0;
    return spinning_;
  }

  void ended(bool successful) {
    if (successful) {
      failed_ = first_ = spinning_ = false;
      failed_at_ = begun_at_ = read_at_ = spun_since_ns_ = forgiven_ns_ = 0;
      skipped_ = skip_ = 0;
      return;
    }
    if (!failed_) {
      failed_ = first_ = true;
    } else if (begun_at_ == 0 && skipped_++ < skip_) {
      return;
    }
    const std::uint64_t now = Clocks::ticks();
    skipped_ = 0;
    if (begun_at_ != 0) {
      skip_ = now - begun_at_ < kShort ? kEvery - 1 : 0;
      begun_at_ = 0;
      if (skip_ != 0) return;
    }
    failed_at_ = now;
    // Who worked between polls the last time will do so again, and is spared the reading.
    if (first_ ? !works_ : spinning_ && now - read_at_ >= kFresh) read();
  }

 private:
  /// The gap to the next poll begins after this, which is a hundred times as long.
  void read() {
    read_at_ = failed_at_;
    read_ns_ = Clocks::passed_ns();
    used_ns_ = Clocks::used_ns();
    failed_at_ = Clocks::ticks();
    if (spun_since_ns_ == 0) spun_since_ns_ = read_ns_;
  }

  /// Whether the thread did nothing of the program's in the gap between the last poll and this one.
  bool idle() {
    const std::uint64_t now = Clocks::passed_ns();
    const std::uint64_t passed = now - read_ns_;
    const std::uint64_t used = Clocks::used_ns() - used_ns_;
    const auto part = static_cast<double>(failed_at_ - read_at_) / static_cast<double>(begun_at_ - read_at_);
    // All that had passed before the gap was spent on polls, on the processor.
    const auto before = static_cast<std::uint64_t>(part * static_cast<double>(passed));
    const std::uint64_t in_gap = used > before ? used - before : 0;
    if (first_) return in_gap < kUsedOnce && in_gap < (passed - before) / 2;
    if (spinning_ && in_gap < kUsedOnce && kNapPart * in_gap <= passed - before) return true;
    if (!spinning_ || forgiven_ns_ + in_gap > kUsedOnce + (now - spun_since_ns_) / kUsedPart) return false;
    forgiven_ns_ += in_gap;
    return true;
  }

  std::uint64_t failed_at_;      ///< the end of the last poll; 0: not timed
  std::uint64_t begun_at_;       ///< the beginning of this poll; 0: not timed
  std::uint64_t read_at_;        ///< when CPU time was read; 0: not in this series, or too long ago
  std::uint64_t read_ns_;        ///< the time at read_at_,
  std::uint64_t used_ns_;        ///< and the thread's CPU time
  std::uint64_t spun_since_ns_;  ///< 0: not known yet
  std::uint64_t forgiven_ns_;    ///< CPU time between the polls of this spin
  std::uint32_t skipped_;        ///< failed polls since the last that was timed
  std::uint32_t skip_;           ///< how many may be
  bool failed_;
  bool first_;  ///< the last poll is the first of its series
  bool spinning_;
  bool works_;  ///< after the first poll of the last series something else was done
};
using PollHistory = Polls<ThreadClocks>;

}  // namespace culprit::mpi
