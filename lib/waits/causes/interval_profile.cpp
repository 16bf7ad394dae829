// What a time line did in an interval, waits excluded: time by computation region (gap, or call by its path)
// and samples in the gaps (docs/algorithms.md 8). Short intervals are gone through call by call into slots by
// region that are never cleared, only outdated. Long ones (64 calls and more) are differences of running sums
// that are closed every sixteen calls or later; a sum stores only those groups of eight numbers that changed,
// so an interval costs what happened in it and not what the line ever did.
#include "waits/causes/interval_profile.hpp"

#include <algorithm>
#include <tuple>

namespace culprit::waits {

namespace {

constexpr std::uint64_t kNothingBefore = ~std::uint64_t{0};

/// A classified line's calls, one after the other, while no other sequence is used.
class CallsInOrder {
 public:
  CallsInOrder(const storage::Sequence<Event>& events, std::uint32_t first) : events_(events), next_(first) {}

  const Event& next() {
    if (at_ == end_) {
      const std::span<const Event> together = events_.together(next_);
      next_ += static_cast<std::uint32_t>(together.size());
      at_ = together.data();
      end_ = at_ + together.size();
    }
    return *at_++;
  }

 private:
  const storage::Sequence<Event>& events_;
  std::uint32_t next_;  // behind those that lie together
  const Event *at_ = nullptr, *end_ = nullptr;
};

}  // namespace

/// They went round: no slot may look like one of this round.
void IntervalProfile::start_rounds() {
  slots_.assign(slots_.size(), {});
  round_ = 1;
}

void IntervalProfile::add(const TimeLine& line, const Interval& interval) {
  const bool synced = interval.first > 0;
  CallsInOrder calls(line.events, synced ? interval.first - 1 : 0);
  Adding to = adding();
  std::uint64_t before_ns = kNothingBefore;
  if (synced) {
    const Event& event = calls.next();
    if (interval.synced_as != SyncedAs::leaving) add_call(to, event, all_.synced());
    before_ns = event.exit_ns;
  }
  std::uint32_t call = interval.first;
  for (; call < interval.until; ++call) {
    const Event& event = calls.next();
    add_gap(to, call, event, before_ns);
    add_call(to, event, all_.of_call(event.context));
    before_ns = event.exit_ns;
  }
  if (call == interval.until) {
    const Event& event = calls.next();
    add_gap(to, call, event, before_ns);
    if (interval.through) add_call(to, event, all_.of_call(event.context));
  }
  added(to);
  if (!sampled_gaps_.empty() || !long_calls_.empty()) add_deferred(line);
}

inline void IntervalProfile::add_gap(Adding& to, std::uint32_t call, const Event& event,
                                     std::uint64_t before_ns) {
  if (event.enter_ns <= before_ns) return;
  to.add(event.gap, event.enter_ns - before_ns);
  if (event.sampled) defer(SampledGap{.call = call, .region = event.gap});
}

inline void IntervalProfile::add_call(Adding& to, const Event& event, std::uint32_t region) {
  const std::uint64_t ns = event.exit_ns - event.enter_ns;
  if (event.wait == Event::kLongWait) {
    defer(LongCall{.region = region, .wait = event.waits, .ns = ns});
  } else if (ns > event.wait) {
    to.add(region, ns - event.wait);
  }
}

void IntervalProfile::add_deferred(const TimeLine& line) {
  for (const SampledGap& gap : sampled_gaps_) {
    for_samples(line, gap.call, [&](const Sample& sample) {
      samples_.push_back({.region = gap.region, .context = sample.charged, .ns = sample.ns});
    });
  }
  sampled_gaps_.clear();
  for (const LongCall& call : long_calls_) {
    const std::uint64_t wait = line.waits[call.wait].ns;
    if (call.ns > wait) add(call.region, call.ns - wait);
  }
  long_calls_.clear();
}

void IntervalProfile::merge_several_samples() {
  std::sort(samples_.begin(), samples_.end(), [](const RegionTime& a, const RegionTime& b) {
    return std::tuple(a.region, a.context) < std::tuple(b.region, b.context);
  });
  auto sum = samples_.begin();
  for (auto next = sum + 1; next != samples_.end(); ++next) {
    if (next->region == sum->region && next->context == sum->context) {
      sum->ns += next->ns;
    } else {
      *++sum = *next;
    }
  }
  samples_.erase(sum + 1, samples_.end());
}

LongLine::LongLine(const TimeLine& line, const Regions& regions, storage::Spill& spill)
    : line_(line), stored_(spill), shared_(spill) {
  IntervalProfile profile(regions);
  const auto count = static_cast<std::uint32_t>(line.events.size());
  close_sum(0);
  sum_before_.reserve(count / kCalls + 1);
  for (std::uint32_t first = 0; first < count; first += kCalls) {
    sum_before_.push_back(static_cast<std::uint32_t>(sums_.size() - 1));
    const std::uint32_t until = std::min(count, first + kCalls);
    profile.clear();
    profile.add(line, {.first = first, .synced_as = SyncedAs::leaving, .until = until - 1, .through = true});
    for (const std::uint32_t region : profile.regions()) add({.region = region, .ns = profile.of(region)});
    for (const RegionTime& time : profile.samples()) add(time);
    // A sum's own size takes no more memory than this many calls.
    if (until - sums_.back().until >= std::max<std::size_t>(kCalls, last_.size())) close_sum(until);
  }
  numbers_ = {};
  last_ = {};
  places_ = {};
}

void LongLine::add(const RegionTime& time) {
  const Key key{time.region, time.context};
  const auto [entry, added] = numbers_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
  if (added) keys_.push_back(key);
  const std::size_t eight = entry->second / kTogether;
  if (eight == last_.size()) {
    last_.push_back({});
    places_.push_back(kChanged);
  }
  last_[eight][entry->second % kTogether] += time.ns;
  places_[eight] = kChanged;
}

void LongLine::close_sum(std::uint32_t until) {
  sums_.push_back(
      {.until = until, .count = static_cast<std::uint32_t>(last_.size()), .first = shared_.size()});
  for (std::size_t i = 0; i < last_.size(); ++i) {
    if (places_[i] == kChanged) {
      places_[i] = static_cast<std::uint32_t>(stored_.size());
      stored_.push_back(last_[i]);
    }
    shared_.push_back(places_[i]);
  }
}

void LongLine::add_difference(const Sum& from, const Sum& to, IntervalProfile& profile) const {
  for (std::uint32_t i = 0; i < to.count; ++i) {
    const std::uint32_t place = shared_[to.first + i];
    Together before{};
    if (i < from.count) {
      const std::uint32_t place_before = shared_[from.first + i];
      if (place == place_before) continue;
      before = stored_[place_before];
    }
    const Together after = stored_[place];
    for (std::size_t j = 0; j < kTogether; ++j) {
      if (after[j] == before[j]) continue;
      const Key& key = keys_[i * kTogether + j];
      profile.add({.region = key.region, .context = key.context, .ns = after[j] - before[j]});
    }
  }
}

void LongLine::add(const Interval& interval, IntervalProfile& profile) const {
  if (interval.first >= interval.until) {
    profile.add(line_, interval);
    return;
  }
  // The first sum that begins in the interval, and the last that ends in it.
  std::size_t from = sum_before_[interval.first / kCalls];
  while (from < sums_.size() && sums_[from].until < interval.first) ++from;
  const std::size_t to = sum_before_[(interval.until - 1) / kCalls];
  if (from >= to) {
    profile.add(line_, interval);
    return;
  }
  const std::uint32_t before = sums_[from].until, after = sums_[to].until;
  if (before > 0)
    profile.add(
        line_,
        {.first = interval.first, .synced_as = interval.synced_as, .until = before - 1, .through = true});
  add_difference(sums_[from], sums_[to], profile);
  profile.add(
      line_,
      {.first = after, .synced_as = SyncedAs::leaving, .until = interval.until, .through = interval.through});
}

}  // namespace culprit::waits
