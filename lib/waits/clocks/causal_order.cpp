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

// Brings a process's clock to the reference process's (docs/algorithms.md 11): linear between the comparisons
// in MPI_Init and MPI_Finalize, and beyond them. With one comparison an offset; a rate that differs by more
// than a tenth is damage, and only the offset counts. 128 bits, so that no product overflows.

using measurement::trace::ClockPair;

ClockCorrection::ClockCorrection(std::span<const ClockPair> pairs) {
  const ClockPair* first = nullptr;
  const ClockPair* last = nullptr;
  for (const ClockPair& pair : pairs) {
    if (pair.reference == measurement::trace::kNobody) continue;
    if (first == nullptr || pair.monotonic_ns < first->monotonic_ns) first = &pair;
    if (last == nullptr || pair.monotonic_ns > last->monotonic_ns) last = &pair;
  }
  if (first == nullptr) return;
  corrects_ = true;
  own_ = first->monotonic_ns;
  reference_ = first->reference_ns;
  between_ = last->monotonic_ns - first->monotonic_ns;
  gained_ = static_cast<std::int64_t>(last->reference_ns - first->reference_ns) -
            static_cast<std::int64_t>(between_);
  // Clocks do not differ by a tenth of their speed: such a pair is damaged, and only the first one is used.
  if (between_ == 0 || static_cast<std::uint64_t>(std::abs(gained_)) > between_ / 10) gained_ = 0;
}

ClockCorrection ClockCorrection::later_by(std::int64_t ns) {
  ClockCorrection correction;
  correction.corrects_ = true;
  correction.own_ = ns < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(ns) : 0;
  correction.reference_ = ns < 0 ? 0 : static_cast<std::uint64_t>(ns);
  return correction;
}

std::uint64_t ClockCorrection::corrected(std::uint64_t ns) const {
  __extension__ using Wide = __int128;
  const Wide since = Wide{ns} - Wide{own_};
  const Wide gained = between_ == 0 ? 0 : since * gained_ / Wide{between_};
  return static_cast<std::uint64_t>(std::max<Wide>(Wide{reference_} + since + gained, 0));
}

// A controlled logical clock (docs/algorithms.md 11): moves receives that end before their sends begin to 1
// ns behind them, and what follows on the process with them. The shift shrinks by a hundredth of the time
// that passes; nothing moves backwards. Each reading of the traces adds a set of shifts on top of the earlier
// ones. Cost: a binary search per set and time stamp.

void PushForward::add(std::span<const ClockViolation> violations) {
  if (violations.empty()) return;
  std::vector<ClockViolation> sorted(violations.begin(), violations.end());
  std::ranges::sort(sorted, {}, &ClockViolation::received_ns);
  std::vector<Shift>& shifts = sets_.emplace_back();
  for (const ClockViolation& one : sorted) {
    const Shift shift{.at = one.received_ns, .by = one.sent_ns + 1 - one.received_ns};
    if (!shifts.empty() && shifts.back().left(shift.at) >= shift.by) continue;
    // Of several at one time the largest.
    if (!shifts.empty() && shifts.back().at == shift.at) shifts.pop_back();
    shifts.push_back(shift);
  }
}

std::uint64_t PushForward::shifted(const std::vector<Shift>& shifts, std::uint64_t ns) {
  const auto after = std::ranges::upper_bound(shifts, ns, {}, &Shift::at);
  return after == shifts.begin() ? ns : ns + (after - 1)->left(ns);
}

}  // namespace culprit::waits
