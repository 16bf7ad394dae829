// Explains each wait by what its delayer did longer (Böhme 2010; Hermanns 2013, section 3;
// docs/algorithms.md 8). Since both ranks' last synchronization point the times of computation regions (gaps)
// and calls are compared, by stamps alone: what the delayer spent more bears the wait as short-term cost; the
// part that falls to the delayer's own waits is passed on to their delayers as long-term cost; the rest is
// unattributed. cost_accounts.cpp finds the code, by the samples of all intervals of an account.
// One pass backwards, in rounds of waits: explain each wait and announce what will be passed on, then pass
// each on once all that was announced to it has arrived. What both sides did in its interval is kept for the
// round. Whole ns: the three costs add up to all waiting, for any number of ranks of the analysis.
// Cost: CPU time per event in docs/figures.md; some 400 bytes per wait of a round.
#include "waits/causes/delay_costs.hpp"

#include "exchange/message_exchange.hpp"
#include "waits/causes/code_of_lines.hpp"
#include "waits/causes/compared_line.hpp"
#include "waits/causes/delayer_intervals.hpp"
#include "waits/causes/interval_profile.hpp"
#include "waits/causes/propagated_cost.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace culprit::waits {

namespace {

/// Waits of a round, at least: in all, so that exchanging takes a small part of the time, and of each time
/// line, for the same with turning to it. Not more: those of one line are taken together, and between two
/// that wait for the same call lie all of one line's. What contradictory clocks make of a round depends on
/// where it ends, so that must not depend on the number of ranks of the analysis.
constexpr std::uint64_t kWaits = 1 << 13, kWaitsOfLine = 128;

/// What a wait, and what was passed on to it, leaves to the waits of its delayer: one of as many as were
/// announced.
struct PassedOnNotice {
  static constexpr std::uint8_t kMessage = 22;
  Location delayer = kNoLocation;
  PropagatedCost::Range waits;
  std::uint64_t ns = 0;
};

/// What explains one wait: what its delayer did longer, and the delayer's own waits.
struct Explanation {
  std::uint64_t wait_ns = 0;
  std::uint64_t whole_ns = 0;  // what the parts are shares of
  std::uint64_t delay_ns = 0;
  std::uint64_t waits_ns = 0;
  PropagatedCost::Range waits;
  Location delayer = kNoLocation;
  std::uint32_t account = 0;
  std::uint32_t interval = 0;  // the number of the delayer's
  // What the waiter did: among all waiters' times.
  std::uint32_t first = 0, times = 0, synced_region = 0;
};

class CostPropagation {
 public:
  using Received = exchange::MessageList<IntervalRequest, IntervalAnswer, PassedOnNotice>;

  CostPropagation(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                  const DelayOptions& options)
      : analysis_(analysis),
        rank_map_(rank_map),
        matched_(matched),
        options_(options),
        exchange_(analysis),
        code_(options.chains == nullptr ? CodeOfLines()
                                        : CodeOfLines(analysis, matched.store, *options.chains)),
        costs_(matched.regions.synced()),
        costs_of_own_(matched.regions.synced()),
        waiter_(matched.regions),
        intervals_(matched.regions) {
    options_.waits_together =
        std::max<std::size_t>(options_.waits_together, 1) * static_cast<std::size_t>(analysis.size());
    if (options_.waits_per_round == 0)
      options_.waits_per_round = std::max(kWaits, kWaitsOfLine * std::uint64_t{rank_map.locations()});
    lines_.reserve(matched.store.lines().size());
    for (const TimeLine& line : matched.store.lines()) {
      Line& own = lines_.emplace_back(line, matched.regions, matched.store.spill());
      find_latest(own);
    }
  }

  DelayCosts run() {
    std::uint64_t span = 1'000'000;
    for (std::uint64_t latest = latest_wait(); latest != 0; latest = latest_wait()) {
      const std::uint64_t count = round(latest > span ? latest - span : 0);
      if (count > options_.waits_per_round) span = std::max<std::uint64_t>(span / 2, 1);
      if (count < options_.waits_per_round / 2 && span < std::uint64_t{1} << 60) span *= 2;
      if (analysis_.all_max(costs_.size()) > options_.accounts_kept) send_costs();
    }
    send_costs();
    // These were gone through before what they are said to have caused.
    for (const Line& line : lines_) give_up(line.propagated.left());
    result_.costs = costs_of_own_.divide(
        matched_, options_.chains == nullptr ? ProcedureChains() : *options_.chains, code_);
    return std::move(result_);
  }

  void receive(const IntervalRequest& notice) {
    Line& own = line_of(notice.interval.cause.location);
    intervals_.answer(notice, own.compared, own.propagated, exchange_);
  }
  void receive(const IntervalAnswer& notice, std::span<const RegionTime> items) {
    intervals_.receive(notice, items);
  }
  void receive(const PassedOnNotice& notice);

 private:
  struct Line {
    Line(const TimeLine& line, const Regions& regions, storage::Spill& spill)
        : compared(line, regions, spill),
          propagated(line),
          next(static_cast<std::uint32_t>(line.waits.size())) {}
    ComparedLine compared;
    PropagatedCost propagated;
    std::uint32_t next = 0;        // one past the wait that is next, backwards
    Wait latest;                   // that one
    std::uint32_t listed = 0;      // where those of this round begin
    std::uint32_t listed_end = 0;  // and end, in the list
  };
  /// A wait of this round, on its way to be passed on.
  struct Listed {
    std::uint32_t line = 0, wait = 0;
    Explanation explanation;
  };

  /// Leaves out parts and completions, which nobody is to blame for.
  static void find_latest(Line& line) {
    for (; line.next > 0; --line.next) {
      line.latest = line.compared.line().waits[line.next - 1];
      if (is_whole_wait(line.latest.pattern)) return;
    }
  }
  /// Over all ranks: when the latest wait ended that was not looked at yet; 0 for none.
  std::uint64_t latest_wait() {
    std::uint64_t latest = 0;
    for (const Line& line : lines_) {
      if (line.next > 0) latest = std::max(latest, line.latest.until_ns);
    }
    return analysis_.all_max(latest);
  }

  [[nodiscard]] Line& line_of(Location location) { return lines_[matched_.store.index_of(location)]; }
  std::uint64_t round(std::uint64_t since);
  void explain_all(std::uint64_t since);
  void list(std::uint32_t at, std::uint64_t since);
  void take_waiter(ComparedLine& line, const Interval& interval, const Wait& wait, Explanation& explanation);
  void explain(Listed& one);
  [[nodiscard]] std::uint64_t delay(const DelayerInterval& delayer) const;
  void observe(const Listed& one, const Wait& wait, std::uint64_t indirect_ns) const;
  [[nodiscard]] SideTimes of_waiter(const Listed& one) const;
  void pass_on(const Listed& one);
  void pass_on_complete();
  void pass_on_ready(const Line& own);
  std::uint64_t distribute(const Listed& one, std::uint64_t passed_ns);
  void give_up(std::uint64_t ns);
  void send_costs();

  exchange::Communicator& analysis_;
  const RankMap& rank_map_;
  const Matched& matched_;
  DelayOptions options_;
  exchange::MessageExchange exchange_;
  CodeOfLines code_;
  CostAccounts costs_;         // what time lines cost waiters here; its numbers hold until the round ends
  CostAccounts costs_of_own_;  // what time lines here cost waiters anywhere, as far as it is known
  IntervalProfile waiter_;     // kept for its memory
  DelayCosts result_;
  std::vector<Line> lines_;  // as in the store
  // Of this round.
  std::vector<Listed> listed_;
  std::size_t passed_on_ = 0;  // of them
  DelayerIntervals intervals_;
  std::vector<RegionTime> waiters_;   // what waiters did
  std::vector<std::uint32_t> ready_;  // waits of one line
};

/// All waits that ended after `since`: explained first, so that it is known what will be passed on to which;
/// then each is passed on once all that it will get has arrived. Returns how many.
std::uint64_t CostPropagation::round(std::uint64_t since) {
  listed_.clear();
  passed_on_ = 0;
  waiters_.clear();
  intervals_.forget();
  explain_all(since);
  const std::uint64_t count = analysis_.all_sum(listed_.size());
  pass_on_complete();
  // What is left waits for itself: only contradictory clocks can say so. All of it is passed on before any of
  // it arrives, on however many ranks of the analysis.
  if (passed_on_ != listed_.size()) {
    for (const Listed& one : listed_) {
      if (!lines_[one.line].propagated.taken(one.wait)) pass_on(one);
    }
  }
  exchange_.deliver(*this);
  for (Line& line : lines_) line.propagated.close();
  return count;
}

/// Waits to which nothing more will come, and those to which that leads. Some at a time: what reaches other
/// ranks' waits is passed on there meanwhile.
void CostPropagation::pass_on_complete() {
  const std::uint64_t most = analysis_.all_max(listed_.size());
  for (std::size_t first = 0; first < most; first += options_.waits_together) {
    const std::size_t end = std::min(first + options_.waits_together, listed_.size());
    for (std::size_t next = first; next < end; ++next) {
      const Listed& one = listed_[next];
      const PropagatedCost& propagated = lines_[one.line].propagated;
      if (!propagated.taken(one.wait) && propagated.complete(one.wait)) pass_on(one);
      exchange_.deliver_own(*this);
    }
    exchange_.deliver_once(*this);
  }
  exchange_.deliver(*this);
}

/// What time lines cost waiters here is sent to the ranks that have the lines.
void CostPropagation::send_costs() {
  costs_.send(exchange_, rank_map_);
  costs_.clear();
  exchange_.deliver(costs_of_own_);
}

/// Some lines at a time: what is requested for all of them would fit into no cache. While others find out
/// what was requested last, the answers that came are gone through, and the next lines.
void CostPropagation::explain_all(std::uint64_t since) {
  std::uint32_t line = 0;
  std::size_t explained = 0;
  for (;;) {
    const std::size_t answered = listed_.size();
    for (; line < lines_.size() && intervals_.size() < options_.waits_together; ++line) list(line, since);
    intervals_.send(exchange_);
    if (!exchange_.deliver_once(*this)) return;
    for (; explained < answered; ++explained) explain(listed_[explained]);
  }
}

/// Those of one line: what their delayers did is requested where that was recorded.
void CostPropagation::list(std::uint32_t at, std::uint64_t since) {
  Line& own = lines_[at];
  own.listed = static_cast<std::uint32_t>(listed_.size());
  while (own.next > 0 && own.latest.until_ns > since) {
    Listed& one = listed_.emplace_back();
    one.line = at;
    one.wait = --own.next;
    one.explanation.interval = intervals_.request(rank_map_.holder_of(own.latest.cause.location),
                                                  IntervalKey(own.latest, own.compared.began_ns()));
    find_latest(own);
  }
  own.listed_end = static_cast<std::uint32_t>(listed_.size());
  own.propagated.list(own.next);
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
void CostPropagation::explain(Listed& one) {
  ComparedLine& line = lines_[one.line].compared;
  const Wait wait = line.line().waits[one.wait];
  Explanation& explanation = one.explanation;
  const DelayerInterval delayer = intervals_[explanation.interval];
  take_waiter(line, line.of_wait(wait, delayer.began_ns), wait, explanation);
  explanation.wait_ns = wait.ns;
  explanation.delay_ns = delay(delayer);
  explanation.waits = delayer.waits;
  explanation.waits_ns = delayer.waits_ns;
  explanation.whole_ns = std::max(explanation.delay_ns + explanation.waits_ns, wait.ns);
  explanation.delayer = wait.cause.location;
  if (explanation.delay_ns != 0) {
    explanation.account = costs_.number({.delayer = explanation.delayer,
                                         .cause_context = wait.cause_context,
                                         .waiter_context = wait.context,
                                         .waiter_kind = code_.kind(line.line().location)});
  }
  const std::uint64_t indirect = share(wait.ns, explanation.waits_ns, explanation.whole_ns);
  result_.indirect_ns += indirect;
  result_.direct_ns += wait.ns - indirect;
  if (options_.observer) observe(one, wait, indirect);
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

SideTimes CostPropagation::of_waiter(const Listed& one) const {
  const Explanation& explanation = one.explanation;
  return {.times = std::span(waiters_).subspan(explanation.first, explanation.times),
          .synced_region = explanation.synced_region,
          .sample_ns = lines_[one.line].compared.line().sample_ns};
}

void CostPropagation::observe(const Listed& one, const Wait& wait, std::uint64_t indirect_ns) const {
  const Explanation& explanation = one.explanation;
  options_.observer({.waiter = lines_[one.line].compared.line().location,
                     .waiter_context = wait.context,
                     .cause = wait.cause,
                     .cause_context = wait.cause_context,
                     .pattern = wait.pattern,
                     .indirect_ns = indirect_ns,
                     .first = wait.first,
                     .weight = {wait.ns, explanation.whole_ns},
                     .delay_ns = explanation.delay_ns,
                     .of_delayer = intervals_[explanation.interval].did,
                     .of_waiter = of_waiter(one)});
}

void CostPropagation::pass_on(const Listed& one) {
  ++passed_on_;
  const Explanation& explanation = one.explanation;
  const std::uint64_t to_waits = distribute(one, lines_[one.line].propagated.take(one.wait));
  if (explanation.waits.first >= explanation.waits.last) return give_up(to_waits);
  exchange_.send(rank_map_.holder_of(explanation.delayer),
                 PassedOnNotice{.delayer = explanation.delayer, .waits = explanation.waits, .ns = to_waits});
}

void CostPropagation::receive(const PassedOnNotice& notice) {
  Line& delayer = line_of(notice.delayer);
  ready_.clear();
  give_up(delayer.propagated.give(notice.waits, notice.ns, ready_));
  pass_on_ready(delayer);
}

/// What lies after that which it is said to have caused.
void CostPropagation::give_up(std::uint64_t ns) {
  result_.unattributed_ns += ns;
  result_.contradictory_ns += ns;
}

/// Divides a wait, and what was passed on to it, between what its delayer did longer and that one's waits;
/// what rounding leaves goes to the larger. Returns what falls to the waits.
std::uint64_t CostPropagation::distribute(const Listed& one, std::uint64_t passed_ns) {
  const Explanation& explanation = one.explanation;
  const std::uint64_t whole = explanation.whole_ns;
  const bool all = explanation.delay_ns + explanation.waits_ns == whole;
  const bool by_delay = explanation.delay_ns >= explanation.waits_ns;
  std::uint64_t to_waits = 0;
  const auto divide = [&](std::uint64_t amount) {
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
  const std::uint64_t short_ns = divide(explanation.wait_ns);
  const std::uint64_t long_ns = divide(passed_ns);
  if (explanation.delay_ns == 0) return to_waits;
  CostAccounts::Sums& account = costs_[explanation.account];
  account.short_ns += short_ns;
  account.long_ns += long_ns;
  const Weight weight{explanation.wait_ns + passed_ns, whole};
  costs_.times().add(explanation.account, Side::delayer, intervals_[explanation.interval].did, weight);
  costs_.times().add(explanation.account, Side::waiter, of_waiter(one), weight);
  return to_waits;
}

/// Waits of a line to which nothing more will come.
void CostPropagation::pass_on_ready(const Line& own) {
  const auto begin = listed_.begin() + own.listed;
  const auto end = listed_.begin() + own.listed_end;
  for (const std::uint32_t wait : ready_) {
    const auto found =
        std::lower_bound(begin, end, wait, [](const Listed& one, std::uint32_t at) { return one.wait > at; });
    // Parts of waits are nobody's concern.
    if (found != end && found->wait == wait && !own.propagated.taken(wait)) pass_on(*found);
  }
}

}  // namespace

DelayCosts delay_costs(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                       const DelayOptions& options) {
  return CostPropagation(analysis, rank_map, matched, options).run();
}

}  // namespace culprit::waits
