#include "waits/compared_line.hpp"

#include <algorithm>

namespace culprit::waits {

std::uint32_t ComparedLine::first_call(const IntervalStart& start, std::uint32_t until) {
  return after(start.context == 0 ? start.other : attended({start.context, start.other}, until));
}

/// The call that attended the collective, before call `until`. Causes are looked at about in the order of
/// time, and their intervals are short as a rule, so the neighbourhood of the last one is searched; where
/// that has taken longer than a table would have, or it is not there, there will be one.
std::uint32_t ComparedLine::attended(const Collective& collective, std::uint32_t until) {
  const Sequence<Attendance>& list = line_->attendances;
  if (all_attended_.empty()) {
    const std::size_t most = 8 * list.size();
    attendance_ = std::min(attendance_, list.size());
    for (; attendance_ > 0 && list[attendance_ - 1].event >= until; --attendance_) ++steps_;
    for (; attendance_ < list.size() && list[attendance_].event < until; ++attendance_) ++steps_;
    for (std::size_t i = attendance_; i > 0 && steps_ <= most; --i, ++steps_) {
      const Attendance one = list[i - 1];
      if (one.context == collective.context && one.instance == collective.instance) return one.event;
    }
    for (const Attendance& one : list) all_attended_[{one.context, one.instance}] = one.event;
  }
  const auto found = all_attended_.find(collective);
  return found == all_attended_.end() ? IntervalStart::kBeginning : found->second;
}

void ComparedLine::add(std::uint32_t first, std::uint32_t until, IntervalProfile& profile) {
  until = std::min(until, static_cast<std::uint32_t>(line_->events.size() - 1));
  if (first > until) return;
  if (first > 0) profile.add_met(*line_, first - 1);
  if (until - first >= LongLine::kLong) {
    if (sums_ == nullptr) sums_ = std::make_unique<LongLine>(*line_, *pieces_, *spill_);
    sums_->add(first, until, profile);
  } else {
    profile.add(*line_, first, until);
  }
  profile.add_gap(*line_, until);
}

}  // namespace culprit::waits
