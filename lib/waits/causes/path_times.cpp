// Weighted sums of what delayers and waiters took, by account, region and sampled call path
// (docs/algorithms.md 8: T, n and v). Whole numbers that stop at the largest one, so that neither the order
// nor the number of ranks of the analysis matters.
#include "waits/causes/path_times.hpp"

#include "waits/timeline/path_shares.hpp"

#include <algorithm>

namespace culprit::waits {

namespace {

/// ns² as µs².
std::uint64_t square_us(std::uint64_t a_ns, std::uint64_t b_ns) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a_ns} * b_ns / 1'000'000;
  return product > ~std::uint64_t{0} ? ~std::uint64_t{0} : static_cast<std::uint64_t>(product);
}

}  // namespace

PathTimes::Sum& PathTimes::sum(std::uint32_t account, Side side, std::uint32_t region,
                               std::uint32_t context) {
  const Key key{storage::joined(account, region), storage::joined(static_cast<std::uint32_t>(side), context)};
  Seen& seen = seen_[Hash{}(key) % kSeen];
  if (seen.sum < sums_.size() && seen.key == key) return sums_[seen.sum];
  const auto [entry, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(sums_.size()));
  if (is_new) sums_.push_back({.key = key});
  seen = {key, entry->second};
  return sums_[entry->second];
}

void PathTimes::add(std::uint32_t account, Side side, const SideTimes& did, const Weight& weight) {
  const std::uint64_t sample_ns = share(did.sample_ns, weight.part, weight.whole);
  for (const RegionTime& time : did.times) {
    const std::uint64_t ns = share(time.ns, weight.part, weight.whole);
    Sum& one = sum(account, side, time.region == synced_ ? did.synced_region : time.region, time.context);
    one.ns = added(one.ns, ns);
    if (time.context != RegionTime::kWhole) one.variance = added(one.variance, square_us(ns, sample_ns));
  }
}

void PathTimes::add(std::uint32_t account, const PathTime& time) {
  Sum& one = sum(account, time.side, time.region, time.context);
  one.ns = added(one.ns, time.ns);
  one.variance = added(one.variance, time.variance);
}

void PathTimes::clear() {
  numbers_.clear();
  sums_.clear();
  std::fill(seen_.begin(), seen_.end(), Seen{});
}

PathTimes::Sorted PathTimes::sorted(std::uint32_t accounts) const {
  std::vector<Sum> sums = sums_;
  std::sort(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) {
    return a.key.account_region != b.key.account_region ? a.key.account_region < b.key.account_region
                                                        : a.key.side_context < b.key.side_context;
  });
  Sorted all;
  all.times.reserve(sums.size());
  all.first.assign(accounts + std::size_t{1}, 0);
  for (const Sum& one : sums) {
    const auto account = static_cast<std::uint32_t>(one.key.account_region >> 32);
    ++all.first[account + std::size_t{1}];
    all.times.push_back({.region = static_cast<std::uint32_t>(one.key.account_region),
                         .context = static_cast<std::uint32_t>(one.key.side_context),
                         .side = static_cast<Side>(one.key.side_context >> 32),
                         .ns = one.ns,
                         .variance = one.variance});
  }
  for (std::size_t i = 1; i < all.first.size(); ++i) all.first[i] += all.first[i - 1];
  return all;
}

}  // namespace culprit::waits
