// Explains each wait by what its delayer did longer (Böhme 2010; Hermanns 2013, section 3;
// docs/algorithms.md 8). Since both ranks' last synchronization point the times of computation regions (gaps)
// and calls are compared, by stamps alone: what the delayer spent more bears the wait as short-term cost; the
// part that falls to the delayer's own waits is passed on to their delayers as long-term cost; the rest is
// unattributed. cost_accounts.cpp finds the code, by the samples of all intervals of an account.
// One pass backwards, in rounds of waits (wait_rounds.cpp): each is explained, and divided once all has
// arrived that is passed on to it. What both sides did in its interval is kept for the round. Whole ns: the
// three costs add up to all waiting, for any number of ranks of the analysis. Cost: CPU time per event in
// docs/figures.md; some 400 bytes per wait of a round.
#include "waits/causes/delay_costs.hpp"

#include "exchange/message_exchange.hpp"
#include "waits/causes/code_of_lines.hpp"
#include "waits/causes/compared_line.hpp"
#include "waits/causes/delayer_intervals.hpp"
#include "waits/causes/interval_profile.hpp"
#include "waits/causes/wait_rounds.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace culprit::waits {

namespace {

/// What explains one wait: what its delayer did longer, and the delayer's own waits.
struct Explanation {
  std::uint64_t wait_ns = 0;
  std::uint64_t whole_ns = 0;  // what the parts are shares of
  std::uint64_t delay_ns = 0;
  std::uint64_t waits_ns = 0;
  std::uint32_t account = 0;
  // What the waiter did: among all waiters' times.
  std::uint32_t first = 0, times = 0, synced_region = 0;
};

class CostPropagation {
 public:
  CostPropagation(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                  const DelayOptions& options)
      : analysis_(analysis),
        rank_map_(rank_map),
        matched_(matched),
        options_(options),
        rounds_(analysis, rank_map, matched, options.waits_per_round, options.intervals_together),
        code_(options.chains == nullptr ? CodeOfLines()
                                        : CodeOfLines(analysis, matched.store, *options.chains)),
        costs_(matched.regions.synced()),
        costs_of_own_(matched.regions.synced()),
        waiter_(matched.regions) {}

  DelayCosts run() {
    while (rounds_.next()) {
      explanations_.clear();
      waiters_.clear();
      rounds_.explain([this](std::size_t number) { explain(number); });
      rounds_.pass_on(
          [this](std::size_t number, std::uint64_t passed_ns) { return divide(number, passed_ns); });
      if (analysis_.all_max(costs_.size()) > options_.accounts_kept) send_costs();
    }
    send_costs();
    result_.contradictory_ns = rounds_.contradictory_ns();
    result_.unattributed_ns += result_.contradictory_ns;
    result_.costs = costs_of_own_.divide(
        matched_, options_.chains == nullptr ? ProcedureChains() : *options_.chains, code_);
    return std::move(result_);
  }

 private:
  void explain(std::size_t number);
  void take_waiter(ComparedLine& line, const Interval& interval, const Wait& wait, Explanation& explanation);
  [[nodiscard]] std::uint64_t delay(const DelayerInterval& delayer) const;
  void observe(std::size_t number, const Wait& wait, std::uint64_t indirect_ns);
  [[nodiscard]] SideTimes of_waiter(std::size_t number);
  std::uint64_t divide(std::size_t number, std::uint64_t passed_ns);
  void send_costs();

  exchange::Communicator& analysis_;
  const RankMap& rank_map_;
  const Matched& matched_;
  DelayOptions options_;
  WaitRounds rounds_;
  CodeOfLines code_;
  CostAccounts costs_;         // what time lines cost waiters here; its numbers hold until the round ends
  CostAccounts costs_of_own_;  // what time lines here cost waiters anywhere, as far as it is known
  IntervalProfile waiter_;     // kept for its memory
  DelayCosts result_;
  // Of this round.
  std::vector<Explanation> explanations_;  // of its waits, by number
  std::vector<RegionTime> waiters_;        // what waiters did
};

/// What time lines cost waiters here is sent to the ranks that have the lines.
void CostPropagation::send_costs() {
  exchange::MessageExchange exchange(analysis_);
  costs_.send(exchange, rank_map_);
  costs_.clear();
  exchange.deliver(costs_of_own_);
}

/// What the waiter did: for the round, and in `waiter_`.
void CostPropagation::take_waiter(ComparedLine& line, const Interval& interval, const Wait& wait,
                                  Explanation& explanation) {
  const std::uint32_t synced = matched_.regions.synced();
  waiter_.clear();
  // Contention is no delay: nothing that the waiter did stands for the holder's critical section.
  if (!wait.contended) line.add(interval, waiter_);
  explanation.synced_region = interval.first > 0 ? line.known_region(synced, interval) : synced;
  explanation.first = static_cast<std::uint32_t>(waiters_.size());
  for (const std::uint32_t region : waiter_.regions())
    waiters_.push_back({.region = region, .ns = waiter_.of(region)});
  waiters_.insert(waiters_.end(), waiter_.samples().begin(), waiter_.samples().end());
  explanation.times = static_cast<std::uint32_t>(waiters_.size()) - explanation.first;
}

/// By what the delayer did longer than the waiter, and by its own waits.
void CostPropagation::explain(std::size_t number) {
  ComparedLine& line = rounds_.line(number);
  const Wait wait = rounds_.wait(number);
  const DelayerInterval delayer = rounds_.delayer(number);
  Explanation& explanation = explanations_.emplace_back();
  take_waiter(line, line.of_wait(wait, delayer.began_ns), wait, explanation);
  explanation.wait_ns = wait.ns;
  explanation.delay_ns = delay(delayer);
  explanation.waits_ns = delayer.waits_ns;
  explanation.whole_ns = std::max(explanation.delay_ns + explanation.waits_ns, wait.ns);
  if (explanation.delay_ns != 0) {
    explanation.account = costs_.number({.delayer = wait.cause.location,
                                         .cause_context = wait.cause_context,
                                         .waiter_context = wait.context,
                                         .waiter_kind = code_.kind(line.line().location)});
  }
  const std::uint64_t indirect = share(wait.ns, explanation.waits_ns, explanation.whole_ns);
  result_.indirect_ns += indirect;
  result_.direct_ns += wait.ns - indirect;
  if (options_.observer) observe(number, wait, indirect);
}

/// How much longer the delayer took than the waiter, waits left out: what it did more in regions that both
/// went through; and what it did in regions of its own, as far as the waiter's own and what that did more do
/// not stand for it.
std::uint64_t CostPropagation::delay(const DelayerInterval& delayer) const {
  std::uint64_t more = 0, less = 0, own = 0, shared = 0, waiters = 0;
  for (const RegionTime& time : delayer.times()) {
    const std::uint64_t other = waiter_.of(time.region);
    if (other == 0) own += time.ns;
    shared += other;
    if (other != 0 && time.ns >= other) more += time.ns - other;
    if (time.ns < other) less += other - time.ns;
  }
  for (const std::uint32_t region : waiter_.regions()) waiters += waiter_.of(region);
  waiters -= shared;
  if (own >= waiters) return more + (own - waiters > less ? own - waiters - less : 0);
  return more > waiters - own ? more - (waiters - own) : 0;
}

SideTimes CostPropagation::of_waiter(std::size_t number) {
  const Explanation& explanation = explanations_[number];
  return {.times = std::span(waiters_).subspan(explanation.first, explanation.times),
          .synced_region = explanation.synced_region,
          .sample_ns = rounds_.line(number).line().sample_ns};
}

void CostPropagation::observe(std::size_t number, const Wait& wait, std::uint64_t indirect_ns) {
  const Explanation& explanation = explanations_[number];
  options_.observer({.waiter = rounds_.line(number).line().location,
                     .waiter_context = wait.context,
                     .cause = wait.cause,
                     .cause_context = wait.cause_context,
                     .pattern = wait.pattern,
                     .indirect_ns = indirect_ns,
                     .first = wait.first,
                     .weight = {wait.ns, explanation.whole_ns},
                     .delay_ns = explanation.delay_ns,
                     .of_delayer = rounds_.delayer(number).did,
                     .of_waiter = of_waiter(number)});
}

/// Divides a wait, and what was passed on to it, between what its delayer did longer and that one's waits;
/// what rounding leaves goes to the larger. Returns what falls to the waits.
std::uint64_t CostPropagation::divide(std::size_t number, std::uint64_t passed_ns) {
  const Explanation& explanation = explanations_[number];
  const std::uint64_t whole = explanation.whole_ns;
  const bool all = explanation.delay_ns + explanation.waits_ns == whole;
  const bool by_delay = explanation.delay_ns >= explanation.waits_ns;
  std::uint64_t to_waits = 0;
  const auto divide_amount = [&](std::uint64_t amount) {
    std::uint64_t to_delay = share(amount, explanation.delay_ns, whole);
    std::uint64_t indirect = share(amount, explanation.waits_ns, whole);
    const std::uint64_t left = amount - to_delay - indirect;
    if (!all) {
      result_.unattributed_ns += left;
    } else {
      (by_delay ? to_delay : indirect) += left;
    }
    to_waits += indirect;
    return to_delay;
  };
  const std::uint64_t short_ns = divide_amount(explanation.wait_ns);
  const std::uint64_t long_ns = divide_amount(passed_ns);
  if (explanation.delay_ns == 0) return to_waits;
  CostAccounts::Sums& account = costs_[explanation.account];
  account.short_ns += short_ns;
  account.long_ns += long_ns;
  const Weight weight{explanation.wait_ns + passed_ns, whole};
  costs_.times().add(explanation.account, Side::delayer, rounds_.delayer(number).did, weight);
  costs_.times().add(explanation.account, Side::waiter, of_waiter(number), weight);
  return to_waits;
}

}  // namespace

DelayCosts delay_costs(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                       const DelayOptions& options) {
  return CostPropagation(analysis, rank_map, matched, options).run();
}

}  // namespace culprit::waits
