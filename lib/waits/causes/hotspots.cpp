// Hotspot diagnosis (Wu 2020, equation 5; docs/algorithms.md 8.2): the delayer's hot procedures, with a given
// share of all time or more (usually 1 %), bear the direct part of each wait in proportion to what they took
// longer than on the waiter. Excesses are summed per delayer, waiter and waiting call path, each weighted
// with its wait, and compared by chains of procedures as delay costs are (path_excess.cpp). Nothing is passed
// on; of a collective only the wait of who came first counts. Uses the comparisons that delay costs make.
// Cost: a hash look-up per region and sampled path of an interval.
#include "waits/causes/hotspots.hpp"

#include "exchange/message_exchange.hpp"
#include "waits/causes/path_excess.hpp"
#include "waits/timeline/path_shares.hpp"

#include <algorithm>
#include <map>

namespace culprit::waits {

namespace {

/// What all time lines together spent in a chain of procedures.
struct ChainTime {
  std::uint32_t chain = 0;
  std::uint32_t unused = 0;  // sent as it is
  std::uint64_t ns = 0;
};

}  // namespace

std::uint32_t HotspotDiagnosis::number(const Case& one) {
  if (last_ < cases_.size() && cases_[last_].first == one) return last_;
  const auto [entry, is_new] = case_of_.try_emplace(one, static_cast<std::uint32_t>(cases_.size()));
  if (is_new) cases_.emplace_back(one, 0);
  last_ = entry->second;
  return last_;
}

void HotspotDiagnosis::add(const ComparedWait& wait) {
  if (!wait.first || wait.delay_ns == 0) return;
  const std::uint32_t at = number({wait.cause.location, wait.waiter, wait.waiter_context});
  cases_[at].second += share(wait.weight.part, wait.delay_ns, wait.weight.whole);
  times_.add(at, Side::delayer, wait.of_delayer, wait.weight);
  times_.add(at, Side::waiter, wait.of_waiter, wait.weight);
}

/// The chains above the threshold.
std::set<std::uint32_t> HotspotDiagnosis::find_hot(exchange::Communicator& analysis, double threshold) const {
  const std::vector<std::uint64_t>& by_context = matched_.context_times.all();
  std::map<std::uint32_t, std::uint64_t> own;
  for (std::uint32_t context = 0; context < by_context.size(); ++context) {
    if (by_context[context] != 0) own[chains_.of(context)] += by_context[context];
  }
  std::vector<ChainTime> times;
  times.reserve(own.size());
  for (const auto& [chain, ns] : own) times.push_back({.chain = chain, .ns = ns});
  std::map<std::uint32_t, std::uint64_t> sums;
  std::uint64_t total = 0;
  for (const ChainTime& time : exchange::items_of_all<ChainTime>(analysis, times)) {
    sums[time.chain] += time.ns;
    total += time.ns;
  }
  std::set<std::uint32_t> hot;
  for (const auto& [chain, ns] : sums) {
    if (static_cast<double>(ns) >= threshold * static_cast<double>(total)) hot.insert(chain);
  }
  return hot;
}

std::vector<Hotspot> HotspotDiagnosis::find(exchange::Communicator& analysis, double threshold) const {
  const std::set<std::uint32_t> hot = find_hot(analysis, threshold);
  const PathTimes::Sorted times = times_.sorted(static_cast<std::uint32_t>(cases_.size()));
  std::vector<Hotspot> found;
  for (std::uint32_t i = 0; i < cases_.size(); ++i) {
    const auto& [one, wait_ns] = cases_[i];
    std::map<std::uint32_t, std::uint64_t> weights;
    for (const PathWeight& path : path_excess(times.of(i), matched_.regions, chains_, wait_ns)) {
      const std::uint32_t context = path.path.context;
      if (context != PathOfRegion::kBetween && hot.contains(chains_.of(context)))
        weights[procedure(context)] += path.weight;
    }
    if (weights.empty()) continue;
    for (const PathShare& part : divide_over_paths(Region{}, weights, {wait_ns}))
      found.push_back({one.delayer, part.path.context, one.waiter, one.waiter_context, part.amounts[0]});
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace culprit::waits
