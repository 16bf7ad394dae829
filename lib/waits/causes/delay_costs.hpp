#pragma once

#include "exchange/communicator.hpp"
#include "waits/causes/cost_accounts.hpp"
#include "waits/causes/path_times.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/procedure_chains.hpp"
#include "waits/timeline/rank_map.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace culprit::waits {

/// This rank's share of the causes of all waiting. Summed over all ranks, short-term, long-term and
/// unattributed costs are the waiting time, to the ns; so are direct and indirect waits.
struct DelayCosts {
  std::vector<DelayCost> costs;  ///< in the order of locations, then contexts and regions
  std::uint64_t unattributed_ns =
      0;  ///< of waits for somebody with whom there was no synchronization point before
  std::uint64_t direct_ns = 0, indirect_ns = 0;  ///< waits whose delayer did not itself wait, and the rest
  std::uint64_t contradictory_ns = 0;  ///< part of unattributed_ns: causes that lie after their effects
};

/// A wait, and what its waiter and its delayer did since their last synchronization point: seen where the
/// wait was recorded, as long as it is being compared.
struct ComparedWait {
  Location waiter = kNoLocation;
  std::uint32_t waiter_context = 0;  ///< the path of the call that waited
  EventId cause;
  std::uint32_t cause_context = 0;
  WaitPattern pattern = WaitPattern::none;
  std::uint64_t indirect_ns = 0;  ///< of the wait: what the delayer's own waits in the interval passed on
  bool first = true;              ///< of those that a collective kept waiting: the longest
  Weight weight;                  ///< the wait, of all that explains it
  std::uint64_t delay_ns = 0;     ///< what the delayer took longer
  SideTimes of_delayer, of_waiter;
};

using CompareObserver = std::function<void(const ComparedWait&)>;

struct DelayOptions {
  /// How many waits all ranks together take at a time, about. 0: chosen such that what is kept of them is
  /// some megabytes, or that turning to a time line takes a small part of the time.
  std::uint64_t waits_per_round = 0;
  /// Intervals of delayers that are requested between two exchanges, for each rank of the analysis: many
  /// enough for an exchange to take a small part of the time, and few enough for all ranks to have something
  /// to do meanwhile. The costs are the same for any number.
  std::size_t intervals_together = 1 << 9;
  /// What time lines cost waiters here is sent to the ranks that have them after a round with more accounts,
  /// which take some hundred bytes each. The costs are the same for any number.
  std::size_t accounts_kept = 1 << 18;
  /// Called with each wait where it was recorded, in no order; may be empty.
  CompareObserver observer = {};
  /// By which code is compared; must outlive the call. nullptr: each call path by itself.
  const ProcedureChains* chains = nullptr;
};

/// Collective: goes backwards through all waits; each is explained by what the time line of its cause did
/// longer than the waiter since their last synchronization point, wherever between its calls, and by that
/// one's waits, which pass their part on to their causes. The lines are what match_traces() found. Whole ns,
/// the same for any number of ranks.
DelayCosts delay_costs(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                       const DelayOptions& options = {});

}  // namespace culprit::waits
