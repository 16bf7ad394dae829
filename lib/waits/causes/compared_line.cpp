// A time line as cost propagation and hotspots compare it with others (docs/algorithms.md 8): as a waiter and
// as a delayer.
#include "waits/causes/compared_line.hpp"

#include <algorithm>

namespace culprit::waits {

Interval ComparedLine::of_cause(const IntervalStart& start, std::uint32_t until, bool through,
                                std::uint64_t began_ns) {
  const std::uint32_t call = start.context == 0 ? start.other : call_in({start.context, start.other}, until);
  Interval interval = since(call, start.other_as, began_ns);
  interval.until = until;
  interval.through = through;
  return interval;
}

Interval ComparedLine::of_wait(const Wait& wait, std::uint64_t began_ns) const {
  Interval interval = since(wait.own, wait.own_as, began_ns);
  interval.until = wait.event;
  return interval;
}

/// A thread that another one started in the middle of the run did nothing before: what the other line did
/// until then, above all its start-up, has no counterpart there and is left out.
Interval ComparedLine::since(std::uint32_t call, SyncedAs as, std::uint64_t other_began_ns) const {
  if (call != IntervalStart::kBeginning) return {.first = call + 1, .synced_as = as};
  const auto first =
      std::partition_point(line_->events.begin(), line_->events.end(),
                           [=](const Event& event) { return event.exit_ns <= other_began_ns; });
  return {.first = static_cast<std::uint32_t>(first - line_->events.begin()), .synced_as = SyncedAs::leaving};
}

/// The call that took part in the collective, before call `until`. A line that takes part in those of one
/// communicator only has them all in their places. Else causes are looked at about in the order of time, and
/// their intervals are short as a rule, so the neighbourhood of the last one is searched; where that has
/// taken longer than a table would have, or it is not there, there will be one.
std::uint32_t ComparedLine::call_in(const Collective& collective, std::uint32_t until) {
  const storage::Sequence<CollectiveInstance>& list = line_->collectives;
  const auto is_it = [&collective](const CollectiveInstance& one) {
    return one.context == collective.context && one.instance == collective.instance;
  };
  const std::size_t place = collective.instance + ahead_;
  if (place < list.size()) {
    const CollectiveInstance one = list[place];
    if (is_it(one)) return one.event;
  }
  if (all_calls_.empty()) {
    const std::size_t most = 8 * list.size();
    collective_at_ = std::min(collective_at_, list.size());
    for (; collective_at_ > 0 && list[collective_at_ - 1].event >= until; --collective_at_) ++steps_;
    for (; collective_at_ < list.size() && list[collective_at_].event < until; ++collective_at_) ++steps_;
    for (std::size_t i = collective_at_; i > 0 && steps_ <= most; --i, ++steps_) {
      const CollectiveInstance one = list[i - 1];
      if (!is_it(one)) continue;
      ahead_ = i - 1 - collective.instance;
      return one.event;
    }
    for (const CollectiveInstance& one : list) all_calls_[{one.context, one.instance}] = one.event;
  }
  const auto found = all_calls_.find(collective);
  return found == all_calls_.end() ? IntervalStart::kBeginning : found->second;
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
  const bool entering = interval.first > 0 && interval.synced_as == SyncedAs::entering;
  const std::uint32_t first = waits_before(entering ? interval.first - 1 : interval.first);
  return {first, std::max(first, waits_before(interval.until + (interval.through ? 1 : 0)))};
}

/// The number of waits before a call.
std::uint32_t ComparedLine::waits_before(std::uint32_t call) const {
  return call < line_->events.size() ? line_->events.together(call).front().waits
                                     : static_cast<std::uint32_t>(line_->waits.size());
}

}  // namespace culprit::waits
