// Sums of delay costs per time line and computation region, and their division over call paths
// (docs/algorithms.md 8). Samples only distribute the cost of a gap: by how much more each path was sampled
// on the delayer than on the waiters, weighted with the cost of each interval, summed over all intervals
// before it is clamped at zero; where no path has more, by the delayer's own samples; where there are none,
// the gap keeps its cost. Cost: a hash look-up per region and sampled path of an interval.
#include "waits/causes/cost_accounts.hpp"

#include <algorithm>
#include <map>

namespace culprit::waits {

std::uint32_t CostAccounts::number(Location location, std::uint32_t region) {
  const std::uint64_t key = storage::joined(location, region);
  Seen& seen = seen_[storage::hash_of(key) % kSeen];
  if (seen.key == key) return seen.account;
  const auto [entry, added] = account_of_.try_emplace(key, static_cast<std::uint32_t>(accounts_.size()));
  if (added) accounts_.push_back({.location = location, .region = region});
  seen = {key, entry->second};
  return entry->second;
}

void CostAccounts::send(exchange::MessageExchange& exchange, const RankMap& rank_map) const {
  for (const Account& one : accounts_) {
    exchange.send(rank_map.holder_of(one.location), CostNotice{.location = one.location,
                                                               .region = one.region,
                                                               .short_ns = one.short_ns,
                                                               .long_ns = one.long_ns});
  }
  for (const auto& [key, sampled] : sampled_) {
    const Account& one = accounts_[key.account];
    exchange.send(
        rank_map.holder_of(one.location),
        SampledNotice{
            .location = one.location, .region = one.region, .context = key.context, .sampled = sampled});
  }
}

void CostAccounts::clear() {
  account_of_.clear();
  accounts_.clear();
  std::fill(seen_.begin(), seen_.end(), Seen{});
  sampled_.clear();
}

std::vector<DelayCost> CostAccounts::divide(const Regions& regions) const {
  std::vector<std::pair<SampledKey, Sampled>> sampled(sampled_.begin(), sampled_.end());
  std::sort(sampled.begin(), sampled.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<DelayCost> costs;
  auto next = sampled.begin();
  for (std::uint32_t i = 0; i < accounts_.size(); ++i) {
    const auto first = next;
    while (next != sampled.end() && next->first.account == i) ++next;
    divide(accounts_[i], {first, next}, regions, costs);
  }
  std::sort(costs.begin(), costs.end());
  return costs;
}

void CostAccounts::receive(const CostNotice& notice) {
  Account& own = accounts_[number(notice.location, notice.region)];
  own.short_ns += notice.short_ns;
  own.long_ns += notice.long_ns;
}

void CostAccounts::receive(const SampledNotice& notice) {
  Sampled& own = sampled(number(notice.location, notice.region), notice.context);
  own.excess += notice.sampled.excess;
  own.ns += notice.sampled.ns;
}

/// Samples only distribute the cost of a gap over call paths: by how much longer those took than the
/// waiters', or, where that tells nothing, by how long they took.
void CostAccounts::divide(const Account& account, SampledPaths sampled, const Regions& regions,
                          std::vector<DelayCost>& costs) {
  if (account.short_ns == 0 && account.long_ns == 0) return;
  std::map<std::uint32_t, std::uint64_t> weights;
  for (const auto& [key, one] : sampled) {
    if (one.excess > 0) weights[key.context] = static_cast<std::uint64_t>(one.excess);
  }
  if (weights.empty()) {
    for (const auto& [key, one] : sampled) {
      if (one.ns > 0) weights[key.context] = one.ns;
    }
  }
  for (const PathShare& part :
       divide_over_paths(regions[account.region], weights, {account.short_ns, account.long_ns})) {
    costs.push_back({.location = account.location,
                     .path = part.path,
                     .short_term_ns = part.amounts[0],
                     .long_term_ns = part.amounts[1]});
  }
}

}  // namespace culprit::waits
