#pragma once

#include "follow/live_tree.hpp"
#include "measurement/watch_live.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace culprit::follow {

/// What a thread's time went into, in ns.
struct Activity {
  std::int64_t wait = 0;   ///< marked as waiting, less what moves data or computes meanwhile
  std::int64_t io = 0;     ///< in calls that read and write files
  std::int64_t sleep = 0;  ///< blocked in another call
  std::int64_t run = 0;    ///< all else
  std::int64_t cpu = 0;    ///< CPU time of `run`

  [[nodiscard]] std::int64_t all() const { return wait + io + sleep + run; }
  void add(const Activity& other) {
    wait += other.wait;
    io += other.io;
    sleep += other.sleep;
    run += other.run;
    cpu += other.cpu;
  }
};

/// What a context gained, by what its place means.
Activity activity_of(const Place& place, const measurement::Gain& gain);

/// Time of one process.
struct ProcessSums {
  Activity main;                                      ///< of its main thread
  std::unordered_map<std::uint32_t, Activity> spots;  ///< of all threads, by LiveTree::spots()
};

/// Time by process, of the last interval or of the run so far.
class Sums {
 public:
  void clear() {
    for (ProcessSums& process : processes_) process = {};
  }
  /// `process`: numbers from 0 on.
  void add(std::size_t process, bool main_thread, std::uint32_t spot, const Activity& activity);
  [[nodiscard]] const ProcessSums& of(std::size_t process) const {
    static const ProcessSums kNothing;
    return process < processes_.size() ? processes_[process] : kNothing;
  }

 private:
  std::vector<ProcessSums> processes_;
};

}  // namespace culprit::follow
