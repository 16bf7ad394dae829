#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include <sched.h>

namespace culprit::prof_mpi {

/// What to do between two looks for a message: at first look again at once, then let others run, then sleep,
/// the longer the longer nothing has come. MPI's own waiting would keep a processor busy that another rank
/// could compute on.
class Patience {
 public:
  void wait() {
    ++looks_;
    if (looks_ < kSpins) return;
    if (looks_ < kYields) {
      ::sched_yield();
    } else {
      std::this_thread::sleep_for(sleep_);
      sleep_ = std::min(sleep_ + sleep_ / 8, kLongestSleep);
    }
  }

 private:
  /// A message takes some microseconds, as a look does: what has not come after some hundred is being worked
  /// for. More looks took a third as much CPU time as two ranks' work, with large tiles.
  static constexpr int kSpins = 100, kYields = 200;
  /// So that a rank sleeps at most an eighth longer than it had to; and where a message moves by a piece with
  /// each look (over TCP), the pieces do not wait for each other for long.
  static constexpr std::chrono::microseconds kShortestSleep{50}, kLongestSleep{200};
  int looks_ = 0;
  std::chrono::microseconds sleep_ = kShortestSleep;
};

}  // namespace culprit::prof_mpi
