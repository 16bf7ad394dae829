// The last synchronization point of one time line with each other time line (docs/algorithms.md 8): by
// partner the last wait of either for the other; by communicator the last collective instance in which all
// members synchronized, the latest first. A wait's interval begins at the later of both. Cost: a hash look-up
// per wait, and the communicators used since.
#include "waits/matching/synchronization_points.hpp"

#include <algorithm>

namespace culprit::waits {

void SynchronizationPoints::add(const Awaited& awaited) {
  last_[awaited.waiter.location] = {.own = awaited.event,
                                    .other = awaited.waiter.index,
                                    .own_as = awaited.by_its_end ? SyncedAs::leaving : SyncedAs::entering,
                                    .other_as = SyncedAs::waiter};
}

void SynchronizationPoints::add(const CollectiveInstance& instance) {
  auto place = std::find_if(instances_.begin(), instances_.end(), [&instance](const LastInstance& one) {
    return one.last.context == instance.context;
  });
  if (place == instances_.end()) {
    instances_.push_back({.last = {}, .context = contexts_.find(instance.context).value_or(View::kUnknown)});
    place = instances_.end() - 1;
  }
  std::rotate(instances_.begin(), place, place + 1);
  instances_.front().last = instance;
}

IntervalStart SynchronizationPoints::synchronize(const Wait& wait) {
  IntervalStart& last = last_[wait.cause.location];
  IntervalStart start;
  // Only clocks that contradict each other have a point after the cause.
  if (last.other < wait.cause.index) start = last;
  last = {.own = wait.event,
          .other = wait.cause.index,
          .own_as = SyncedAs::waiter,
          .other_as = wait.cause_ends ? SyncedAs::leaving : SyncedAs::entering};
  const std::int32_t rank = rank_map_.rank_of(wait.cause.location);
  for (const LastInstance& one : instances_) {
    if (start.own != IntervalStart::kBeginning && one.last.event <= start.own) break;
    if (one.context == View::kUnknown || !contexts_.shared(one.context).members.contains(rank)) continue;
    return {.context = one.last.context, .own = one.last.event, .other = one.last.instance};
  }
  return start;
}

}  // namespace culprit::waits
