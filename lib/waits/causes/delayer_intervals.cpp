// What delayers did in the intervals that explain waits (docs/algorithms.md 8). Each interval is requested
// from the rank of the analysis that has the delayer's time line, this one or another, some hundred at a time
// and once for all waits that it explains: all who wait for one call of a collective, and both neighbours of
// a late rank, mostly synchronized with it at the same point before. Answers hold the regions' times and the
// samples. While others answer, the answers to the last requests are gone through.
// Cost: one request per wait at most; an answer costs what its interval does (interval_profile.cpp).
#include "waits/causes/delayer_intervals.hpp"

#include <algorithm>

namespace culprit::waits {

std::uint32_t DelayerIntervals::request(int holder, const IntervalKey& key) {
  std::uint32_t& latest = latest_[key.hash() % kLatest];
  if (latest == kNone || requested_[latest].key != key) {
    latest = static_cast<std::uint32_t>(requested_.size());
    requested_.push_back({.key = key, .holder = holder});
  }
  ++requested_[latest].waits;
  return latest;
}

void DelayerIntervals::send(exchange::MessageExchange& exchange) {
  if (requested_.empty()) return;
  std::uint32_t number = 0;
  for (const Requested& one : requested_) {
    exchange.send(one.holder,
                  IntervalRequest{
                      .interval = one.key, .waits = one.waits, .number = number++, .from = exchange.here()});
  }
  requested_.clear();
  std::fill(latest_.begin(), latest_.end(), kNone);
}

void DelayerIntervals::answer(const IntervalRequest& request, ComparedLine& line, PropagatedCost& propagated,
                              exchange::MessageExchange& exchange) {
  const IntervalKey& key = request.interval;
  const Interval interval =
      line.of_cause({.context = key.context, .other = key.other, .other_as = key.other_as}, key.cause.index,
                    key.cause_ends);
  profile_.clear();
  line.add(interval, profile_);
  const auto [first, last] = line.waits(interval);
  const PropagatedCost::Range waits{first, last};
  propagated.announce(waits, request.waits);
  items_.clear();
  for (const std::uint32_t region : profile_.regions())
    items_.push_back({.region = region, .ns = profile_.of(region)});
  const auto times = static_cast<std::uint32_t>(items_.size());
  items_.insert(items_.end(), profile_.samples().begin(), profile_.samples().end());
  const std::uint32_t synced = regions_.synced();
  exchange.send(
      request.from,
      IntervalAnswer{.waits_ns = propagated.length(waits),
                     .waits = waits,
                     .synced_region = interval.first > 0 ? line.known_region(synced, interval) : synced,
                     .times = times,
                     .number = request.number},
      items_);
}

void DelayerIntervals::receive(const IntervalAnswer& notice, std::span<const RegionTime> items) {
  if (notice.number >= answers_.size()) answers_.resize(notice.number + std::size_t{1});
  const std::span<const RegionTime> samples = items.subspan(notice.times);
  answers_[notice.number] = {.notice = notice,
                             .first_time = times_.size(),
                             .first_sample = samples_.size(),
                             .samples = samples.size()};
  for (const RegionTime& time : items.first(notice.times))
    times_.push_back({.region = time.region, .ns = time.ns});
  samples_.insert(samples_.end(), samples.begin(), samples.end());
}

DelayerInterval DelayerIntervals::operator[](std::uint32_t number) {
  const Answer& answer = answers_[number];
  return {.times = std::span(times_).subspan(answer.first_time, answer.notice.times),
          .samples = std::span(samples_).subspan(answer.first_sample, answer.samples),
          .waits = answer.notice.waits,
          .waits_ns = answer.notice.waits_ns,
          .synced_region = answer.notice.synced_region};
}

void DelayerIntervals::forget() {
  answers_.clear();
  times_.clear();
  samples_.clear();
}

}  // namespace culprit::waits
