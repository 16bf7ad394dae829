#include "follow/sums.hpp"

namespace culprit::follow {

/// Input and output counts as such where a layer marks it as waiting, too (MPI_File_write_all).
Activity activity_of(const Place& place, const measurement::Gain& gain) {
  Activity activity;
  if (place.io) {
    activity.io = gain.time_ns;
    return activity;
  }
  activity.wait = place.never ? 0 : gain.marked_ns;
  const std::int64_t rest = gain.time_ns - activity.wait;
  if (gain.blocked && activity.wait == 0) {  // MPI_Init as well, which is marked and never waiting
    activity.sleep = rest;
  } else {
    activity.run = rest;
    // Of a context that waits, CPU time is that of the wait's spinning.
    activity.cpu = activity.wait == 0 || rest > activity.wait ? gain.cpu_ns : rest;
  }
  return activity;
}

void Sums::add(std::size_t process, bool main_thread, std::uint32_t spot, const Activity& activity) {
  if (process >= processes_.size()) processes_.resize(process + 1);
  ProcessSums& sums = processes_[process];
  if (main_thread) sums.main.add(activity);
  sums.spots[spot].add(activity);
}

}  // namespace culprit::follow
