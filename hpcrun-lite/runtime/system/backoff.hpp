#pragma once

#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

namespace culprit::runtime {

/// Waiting for another thread to finish something short. It yields at first, then sleeps: under a real-time
/// policy yielding lets no thread of lower priority run, and that may be the one. Async-signal-safe.
class Backoff {
 public:
  void pause() {
    if (++turns_ < kYields) {
      system_call(SYS_sched_yield);
      return;
    }
    const timespec moment = to_timespec(kMoment);
    system_call(SYS_nanosleep, word(&moment), 0);
  }

 private:
  static constexpr unsigned kYields = 100;          // some 100 us: what is waited for takes less
  static constexpr std::uint64_t kMoment = 50'000;  // ns; the kernel adds its slack of as much again
  unsigned turns_ = 0;
};

}  // namespace culprit::runtime
