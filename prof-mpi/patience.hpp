#pragma once

#include <chrono>
#include <thread>

#include <sched.h>

namespace culprit::prof_mpi {

/// What to do between two looks for a message: at first look again at once, then let others run, then sleep a
/// little. MPI's own waiting would keep a processor busy that another rank could compute on.
class Patience {
 public:
  void wait() {
    ++looks_;
    if (looks_ < kSpins) return;
    if (looks_ < kYields) {
      ::sched_yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }

 private:
  static constexpr int kSpins = 100, kYields = 2000;
  static constexpr std::chrono::microseconds kSleep{50};
  int looks_ = 0;
};

}  // namespace culprit::prof_mpi
