#include "waits/last_meetings.hpp"

#include <algorithm>

namespace culprit::waits {

void LastMeetings::attended(const Attendance& attendance) {
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

IntervalStart LastMeetings::with(EventId cause) const {
  IntervalStart start;
  const auto met = met_.find(cause.location);
  if (met != met_.end()) {
    for (const LastTwo::Calls& calls : {met->second.last, met->second.before}) {
      if (calls.other == IntervalStart::kBeginning || calls.other >= cause.index) continue;
      start.own = calls.own;
      start.other = calls.other;
      break;
    }
  }
  const std::int32_t rank = roster_.rank_of(cause.location);
  for (const Attended& one : attended_) {
    if (start.own != IntervalStart::kBeginning && one.last.event <= start.own) break;
    if (one.context == View::kUnknown || !contexts_.shared(one.context).members.contains(rank)) continue;
    return {.context = one.last.context, .own = one.last.event, .other = one.last.instance};
  }
  return start;
}

}  // namespace culprit::waits
