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
  if (latest == kNone || requested_[latest - sent_].key != key) {
    latest = sent_ + static_cast<std::uint32_t>(requested_.size());
    requested_.push_back({.key = key, .holder = holder});
  }
  ++requested_[latest - sent_].waits;
  return latest;
}

void DelayerIntervals::send(exchange::MessageExchange& exchange) {
  if (requested_.empty()) return;
  for (const Requested& one : requested_) {
    exchange.send(
        one.holder,
        IntervalRequest{.interval = one.key, .waits = one.waits, .number = sent_++, .from = exchange.here()});
  }
  requested_.clear();
  std::fill(latest_.begin(), latest_.end(), kNone);
}

void DelayerIntervals::answer(const IntervalRequest& request, ComparedLine& line, PropagatedCost& propagated,
                              exchange::MessageExchange& exchange) {
  const IntervalKey& key = request.interval;
  const Interval interval =
      line.of_cause({.context = key.context, .other = key.other, .other_as = key.other_as}, key.cause.index,
                    key.cause_ends, key.began_ns);
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
                     .began_ns = line.began_ns(),
                     .waits = waits,
                     .sample_ns = line.line().sample_ns,
                     .synced_region = interval.first > 0 ? line.known_region(synced, interval) : synced,
                     .regions = times,
                     .number = request.number},
      items_);
}

void DelayerIntervals::receive(const IntervalAnswer& notice, std::span<const RegionTime> items) {
  if (notice.number >= answers_.size()) answers_.resize(notice.number + std::size_t{1});
  answers_[notice.number] = {.notice = notice, .first = items_of_all_.size(), .items = items.size()};
  items_of_all_.insert(items_of_all_.end(), items.begin(), items.end());
}

DelayerInterval DelayerIntervals::operator[](std::uint32_t number) const {
  const Answer& answer = answers_[number];
  const IntervalAnswer& notice = answer.notice;
  return {.did = {.times = std::span(items_of_all_).subspan(answer.first, answer.items),
                  .synced_region = notice.synced_region,
                  .sample_ns = notice.sample_ns},
          .regions = notice.regions,
          .waits = notice.waits,
          .waits_ns = notice.waits_ns,
          .began_ns = notice.began_ns};
}

void DelayerIntervals::forget() {
  answers_.clear();
  items_of_all_.clear();
  sent_ = 0;
}

}  // namespace culprit::waits
