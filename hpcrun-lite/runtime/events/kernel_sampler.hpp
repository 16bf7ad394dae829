#pragma once

#include "runtime/events/event_list.hpp"

#include <atomic>
#include <cstdint>

namespace culprit::runtime {

/// One kernel event of one thread. A sampler sends the signal and falls silent until it is armed again, so
/// that at most one signal of it is ever pending, however long signals are held back: a full queue would make
/// the kernel send SIGIO instead, which kills. A counter beside it never stops: what happens between a signal
/// and the next arming is in the weight of the next sample.
class KernelSampler {
 public:
  /// Begins for the calling thread, with `signal`. Returns 0 or an errno, then nothing is open. Not from a
  /// handler.
  int start(const Event& event, int tid, int signal);
  /// Ends it. Async-signal-safe. Descriptors that the program closed, and perhaps uses again, are left alone.
  void stop();
  /// All closed, whoever's they are: for a state that is new, or a forked child's copy.
  void reset();

  /// No signals from here on, until arm(). Async-signal-safe.
  void silence();

  [[nodiscard]] bool sends(int descriptor) const { return descriptor >= 0 && descriptor == sampler_; }

  /// What happened since the last time, in the event's unit. Async-signal-safe.
  std::uint64_t take();
  /// How far apart signals are to be.
  struct Pace {
    std::uint32_t halvings = 0;  ///< of the rate: the period is that many times doubled
    std::uint64_t extra = 0;     ///< events by which the next signal comes later still
  };
  /// Lets the next signal come; where sampling is `stopped`, only after resume(). Async-signal-safe.
  void arm(const Pace& pace, bool stopped);

  /// Stops counting, and goes on; any thread. The sampler is left alone: it may send one more signal, and is
  /// then not armed again before resume().
  void pause();
  void resume();

 private:
  [[nodiscard]] bool own(int descriptor, std::uint64_t id) const;
  int open(const Event& event, int tid, int signal);

  int sampler_;
  int counter_;
  std::uint64_t sampler_id_;
  std::uint64_t counter_id_;
  std::uint64_t taken_;
  std::uint64_t period_;      ///< 0 where the kernel chooses
  std::uint64_t frequency_;   ///< then signals per second
  std::uint64_t armed_;       ///< the period, or the frequency, that the sampler has
  std::atomic<bool> silent_;  ///< sent its signal while sampling was stopped: to be armed by resume()
};

}  // namespace culprit::runtime
