// Hotspot diagnosis (Wu 2020, equation 5; docs/algorithms.md 8.2): the delayer's hot procedures, with 1 % of
// all time or more, bear each wait in proportion to what they took longer than on the waiter. Excesses are
// summed per delayer, waiter and waiting call path, each weighted with its wait, before they are clamped at
// zero. Nothing is passed on; of a collective only the wait of who came first counts. Uses the comparisons
// that delay costs make. Cost: a hash look-up per longer region or sample.
#include "waits/causes/hotspots.hpp"

#include "exchange/message_exchange.hpp"
#include "waits/timeline/path_shares.hpp"

#include <algorithm>

namespace culprit::waits {

namespace {

/// What all time lines together spent in a procedure.
struct ProcedureTime {
  std::uint32_t context = 0;
  std::uint64_t ns = 0;
};

}  // namespace

std::uint32_t HotspotDiagnosis::number(const Case& one) {
  if (last_ < cases_.size() && cases_[last_].first == one) return last_;
  const auto [entry, added] = case_of_.try_emplace(one, static_cast<std::uint32_t>(cases_.size()));
  if (added) cases_.emplace_back(one, 0);
  last_ = entry->second;
  return last_;
}

void HotspotDiagnosis::add(const ComparedWait& wait) {
  if (!wait.first) return;
  const std::uint32_t at = number({wait.cause.location, wait.waiter, wait.waiter_context});
  cases_[at].second += wait.ns;
  const auto part = [&](std::uint64_t ns) {
    return static_cast<std::int64_t>(share(ns, wait.ns, wait.longer_ns));
  };
  for (const std::uint32_t number : wait.longer.regions()) {
    const Region& region =
        matched_.regions[number == matched_.regions.synced() ? wait.synced_region : number];
    if (region.next != Region::kCall) continue;
    const std::uint64_t of_waiter = wait.waiter_profile.of(number);
    excess_[{at, procedure(region.previous)}] += part(of_waiter + wait.longer.of(number)) - part(of_waiter);
  }
  const auto add_samples = [&](std::span<const RegionTime> samples, std::int64_t sign) {
    for (const RegionTime& time : samples) {
      if (wait.longer.of(time.region) != 0) excess_[{at, procedure(time.context)}] += sign * part(time.ns);
    }
  };
  add_samples(wait.delayer_samples, 1);
  add_samples(wait.waiter_profile.samples(), -1);
}

/// Procedures, and whether they are above the threshold.
std::map<std::uint32_t, bool> HotspotDiagnosis::find_hot(exchange::Communicator& analysis,
                                                         double threshold) const {
  // By call path first: there are more calls than paths.
  const std::vector<std::uint64_t>& by_context = matched_.context_times.all();
  std::map<std::uint32_t, std::uint64_t> own;
  for (std::uint32_t context = 0; context < by_context.size(); ++context) {
    if (by_context[context] != 0) own[procedure(context)] += by_context[context];
  }
  std::vector<ProcedureTime> times;
  times.reserve(own.size());
  for (const auto& [context, ns] : own) times.push_back({context, ns});
  std::map<std::uint32_t, std::uint64_t> sums;
  std::uint64_t total = 0;
  for (const ProcedureTime& time : exchange::items_of_all<ProcedureTime>(analysis, times)) {
    sums[time.context] += time.ns;
    total += time.ns;
  }
  std::map<std::uint32_t, bool> hot;
  for (const auto& [context, ns] : sums)
    hot[context] = static_cast<double>(ns) >= threshold * static_cast<double>(total);
  return hot;
}

std::vector<Hotspot> HotspotDiagnosis::find(exchange::Communicator& analysis, double threshold) const {
  const std::map<std::uint32_t, bool> all = find_hot(analysis, threshold);
  std::vector<std::map<std::uint32_t, std::uint64_t>> weights(cases_.size());
  for (const auto& [key, ns] : excess_) {
    const auto hot = all.find(key.procedure);
    if (ns > 0 && hot != all.end() && hot->second)
      weights[key.of_case][key.procedure] = static_cast<std::uint64_t>(ns);
  }
  std::vector<Hotspot> found;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (weights[i].empty()) continue;
    const auto& [one, wait_ns] = cases_[i];
    for (const PathShare& part : divide_over_paths(Region{}, weights[i], {wait_ns})) {
      found.push_back({one.delayer, part.path.context, one.waiter, one.waiter_context, part.amounts[0]});
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace culprit::waits
