// Sums of delay costs by account (delayer, path of the call that ended the wait, path of the call that
// waited, kind of the waiter), and their division over call paths (docs/algorithms.md 8; path_excess.cpp).
// Amounts come from stamps alone; the accounts' own intervals show which code took longer. Cost: a look-up
// per wait, and what path_times.cpp and path_excess.cpp cost.
#include "waits/causes/cost_accounts.hpp"

#include "waits/causes/path_excess.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace culprit::waits {

std::uint32_t CostAccounts::number(const CostAccount& account) {
  const auto [entry, is_new] = number_of_.try_emplace(account, static_cast<std::uint32_t>(accounts_.size()));
  if (is_new) accounts_.push_back({.account = account});
  return entry->second;
}

void CostAccounts::send(exchange::MessageExchange& exchange, const RankMap& rank_map) const {
  const PathTimes::Sorted times = times_.sorted(static_cast<std::uint32_t>(accounts_.size()));
  for (std::uint32_t number = 0; number < accounts_.size(); ++number) {
    const Sums& one = accounts_[number];
    exchange.send(rank_map.holder_of(one.account.delayer),
                  CostNotice{.account = one.account, .short_ns = one.short_ns, .long_ns = one.long_ns},
                  times.of(number));
  }
}

void CostAccounts::clear() {
  number_of_.clear();
  accounts_.clear();
  times_.clear();
}

void CostAccounts::receive(const CostNotice& notice, std::span<const PathTime> times) {
  const std::uint32_t own = number(notice.account);
  accounts_[own].short_ns += notice.short_ns;
  accounts_[own].long_ns += notice.long_ns;
  for (const PathTime& time : times) times_.add(own, time);
}

std::vector<DelayCost> CostAccounts::divide(const Matched& matched, const ProcedureChains& chains,
                                            const CodeOfLines& code) const {
  const PathTimes::Sorted times = times_.sorted(static_cast<std::uint32_t>(accounts_.size()));
  std::map<std::tuple<Location, PathOfRegion, std::uint32_t>, DelayCost> sums;  // by waiting call, too
  for (std::uint32_t number = 0; number < accounts_.size(); ++number) {
    const Sums& one = accounts_[number];
    if (one.short_ns + one.long_ns == 0) continue;
    const std::vector<PathWeight> weights =
        path_excess(times.of(number), matched.regions, chains, one.short_ns + one.long_ns,
                    &matched.store.line(one.account.delayer), &code);
    for (const PathShare& part : divide_over_paths(weights, {one.short_ns, one.long_ns})) {
      DelayCost& sum = sums[{one.account.delayer, part.path, one.account.waiter_context}];
      sum.location = one.account.delayer;
      sum.path = part.path;
      sum.waiter_context = one.account.waiter_context;
      sum.short_term_ns += part.amounts[0];
      sum.long_term_ns += part.amounts[1];
    }
  }
  std::vector<DelayCost> costs;
  std::uint64_t most = 0;
  for (const auto& [key, cost] : sums) {
    if (costs.empty() || costs.back().location != cost.location || costs.back().path != cost.path) {
      costs.push_back(cost);
      most = cost.cost_ns();
      continue;
    }
    DelayCost& sum = costs.back();
    sum.short_term_ns += cost.short_term_ns;
    sum.long_term_ns += cost.long_term_ns;
    if (cost.cost_ns() <= most) continue;
    most = cost.cost_ns();
    sum.waiter_context = cost.waiter_context;
  }
  return costs;
}

}  // namespace culprit::waits
