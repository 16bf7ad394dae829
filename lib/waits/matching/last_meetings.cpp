// The last synchronization point of one time line with each other time line (docs/algorithms.md 8): by
// partner the last wait of either for the other; by communicator the last collective instance in which all
// members synchronized, the latest first. A wait's interval begins at the later of both. Cost: a hash look-up
// per wait, and the communicators used since.
#include "waits/matching/last_meetings.hpp"

#include <algorithm>

namespace culprit::waits {

void LastMeetings::met(const Awaited& awaited) {
  met_[awaited.waiter.location] = {.own = awaited.event,
                                   .other = awaited.waiter.index,
                                   .own_as = awaited.by_its_end ? MetAs::leaving : MetAs::entering,
                                   .other_as = MetAs::waiter};
}

void LastMeetings::met(const Attendance& attendance) {
  auto place = std::find_if(attended_.begin(), attended_.end(), [&attendance](const Attended& one) {
    return one.last.context == attendance.context;
  });
  if (place == attended_.end()) {
    attended_.push_back({.last = {}, .context = contexts_.find(attendance.context).value_or(View::kUnknown)});
    place = attended_.end() - 1;
  }
  std::rotate(attended_.begin(), place, place + 1);
  attended_.front().last = attendance;
}

IntervalStart LastMeetings::meet(const Wait& wait) {
  IntervalStart& met = met_[wait.cause.location];
  IntervalStart start;
  // Only clocks that contradict each other make two meet after the cause.
  if (met.other < wait.cause.index) start = met;
  met = {.own = wait.event,
         .other = wait.cause.index,
         .own_as = MetAs::waiter,
         .other_as = wait.cause_ends ? MetAs::leaving : MetAs::entering};
  const std::int32_t rank = roster_.rank_of(wait.cause.location);
  for (const Attended& one : attended_) {
    if (start.own != IntervalStart::kBeginning && one.last.event <= start.own) break;
    if (one.context == View::kUnknown || !contexts_.shared(one.context).members.contains(rank)) continue;
    return {.context = one.last.context, .own = one.last.event, .other = one.last.instance};
  }
  return start;
}

}  // namespace culprit::waits
