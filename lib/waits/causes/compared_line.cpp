#include "waits/causes/compared_line.hpp"

#include <algorithm>

namespace culprit::waits {

Interval ComparedLine::of_cause(const IntervalStart& start, std::uint32_t until, bool through) {
  return {.first = after(start.context == 0 ? start.other : attended({start.context, start.other}, until)),
          .met_as = start.other_as,
          .until = until,
          .through = through};
}

/// The call that attended the collective, before call `until`. One that attends those of one communicator
/// only has them all in their places. Else causes are looked at about in the order of time, and their
/// intervals are short as a rule, so the neighbourhood of the last one is searched; where that has taken
/// longer than a table would have, or it is not there, there will be one.
std::uint32_t ComparedLine::attended(const Collective& collective, std::uint32_t until) {
  const storage::Sequence<Attendance>& list = line_->attendances;
  const auto is_it = [&collective](const Attendance& one) {
    return one.context == collective.context && one.instance == collective.instance;
  };
  const std::size_t place = collective.instance + ahead_;
  if (place < list.size()) {
    const Attendance one = list[place];
    if (is_it(one)) return one.event;
  }
  if (all_attended_.empty()) {
    const std::size_t most = 8 * list.size();
    attendance_ = std::min(attendance_, list.size());
    for (; attendance_ > 0 && list[attendance_ - 1].event >= until; --attendance_) ++steps_;
    for (; attendance_ < list.size() && list[attendance_].event < until; ++attendance_) ++steps_;
    for (std::size_t i = attendance_; i > 0 && steps_ <= most; --i, ++steps_) {
      const Attendance one = list[i - 1];
      if (!is_it(one)) continue;
      ahead_ = i - 1 - collective.instance;
      return one.event;
    }
    for (const Attendance& one : list) all_attended_[{one.context, one.instance}] = one.event;
  }
  const auto found = all_attended_.find(collective);
  return found == all_attended_.end() ? IntervalStart::kBeginning : found->second;
}

void ComparedLine::add(const Interval& interval, IntervalProfile& profile) {
  Interval present = interval;
  present.until = std::min(interval.until, static_cast<std::uint32_t>(line_->events.size() - 1));
  if (present.first > present.until) return;
  const std::uint32_t calls = present.until - present.first;
  if (sums_ == nullptr && calls >= LongLine::kLong) {
    gone_through_ += calls;
    if (gone_through_ >= line_->events.size() / kWorthSums)
      sums_ = std::make_unique<LongLine>(*line_, *regions_, *spill_);
  }
  if (sums_ != nullptr && calls >= LongLine::kLong) {
    sums_->add(present, profile);
  } else {
    profile.add(*line_, present);
  }
  profile.merge_samples();
}

std::pair<std::uint32_t, std::uint32_t> ComparedLine::waits(const Interval& interval) const {
  const bool met_entering = interval.first > 0 && interval.met_as == MetAs::entering;
  const std::uint32_t first = waits_before(met_entering ? interval.first - 1 : interval.first);
  return {first, std::max(first, waits_before(interval.until + (interval.through ? 1 : 0)))};
}

/// The number of waits before a call.
std::uint32_t ComparedLine::waits_before(std::uint32_t call) const {
  return call < line_->events.size() ? line_->events.together(call).front().waits
                                     : static_cast<std::uint32_t>(line_->waits.size());
}

}  // namespace culprit::waits
