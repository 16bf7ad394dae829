// Reads the traces until no receive precedes its send (docs/algorithms.md 11): after each matching pass the
// violations that are left are pushed forward and all traces are read again, 16 times at most, since a moved
// receive may move others along chains of hosts. On one host one reading does. What is left in the end is
// counted.
#include "waits/clocks/causal_order.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace culprit::waits {

namespace {

/// What is pushed forward may push others, along chains of messages between hosts; few of those are long.
constexpr int kPasses = 16;

/// Begins all processes anew, with their receives moved; false: they cannot be read again.
bool rewind(const RankMap& rank_map, std::span<const std::unique_ptr<ProcessTrace>> own,
            std::span<const ClockViolation> violations) {
  std::map<std::int32_t, std::vector<ClockViolation>> by_rank;
  for (const ClockViolation& one : violations) by_rank[rank_map.rank_of(one.location)].push_back(one);
  return std::ranges::all_of(own, [&by_rank](const std::unique_ptr<ProcessTrace>& process) {
    return process->rewind(by_rank[process->rank()]);
  });
}

}  // namespace

CausallyMatched read_in_causal_order(exchange::Communicator& analysis, const RankMap& rank_map,
                                     std::span<const std::unique_ptr<ProcessTrace>> own,
                                     const Observer& observer, const MatchingOptions& options,
                                     const std::function<void()>& begin) {
  if (begin) begin();
  // One reading's blocks are given back before the next takes some.
  auto matched = std::make_unique<Matched>(match_traces(analysis, rank_map, own, observer, options));
  const std::uint64_t recorded = matched->unmatched().clock_violations;
  std::uint64_t left = recorded;
  for (int pass = 1; pass < kPasses && analysis.all_sum(left) > 0; ++pass) {
    const std::vector<ClockViolation> violations = matched->store.violations;
    const bool again = rewind(rank_map, own, violations);
    if (analysis.all_sum(again ? 0 : 1) > 0) break;
    if (begin) begin();
    matched.reset();
    matched = std::make_unique<Matched>(match_traces(analysis, rank_map, own, observer, options));
    left = matched->unmatched().clock_violations;
  }
  return {.matched = std::move(*matched), .violations = recorded, .left = left};
}

}  // namespace culprit::waits
