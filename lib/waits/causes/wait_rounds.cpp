// All waits backwards, in rounds of all ranks of the analysis (docs/algorithms.md 8): each round holds those
// that ended after a common time. First the intervals of all their delayers are requested where these are,
// which also announces to the delayers' waits that something will be passed on to them. Then each wait is
// passed on once all that was announced to it has arrived; what contradictory clocks leave over, at last.
// Cost: a message to and fro for each interval, and one for each wait.
#include "waits/causes/wait_rounds.hpp"

#include <algorithm>

namespace culprit::waits {
namespace {

/// Waits of a round, at least: in all, so that exchanging takes a small part of the time, and of each time
/// line, for the same with turning to it. Not more: those of one line are taken together, and between two
/// that wait for the same call lie all of one line's. What contradictory clocks make of a round depends on
/// where it ends, so that must not depend on the number of ranks of the analysis.
constexpr std::uint64_t kWaits = 1 << 13, kWaitsOfLine = 128;

}  // namespace

WaitRounds::WaitRounds(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                       std::uint64_t waits_per_round, std::size_t intervals_together)
    : analysis_(analysis),
      rank_map_(rank_map),
      store_(matched.store),
      waits_per_round_(waits_per_round),
      intervals_together_(std::max<std::size_t>(intervals_together, 1) *
                          static_cast<std::size_t>(analysis.size())),
      exchange_(analysis),
      intervals_(matched.regions) {
  if (waits_per_round_ == 0)
    waits_per_round_ = std::max(kWaits, kWaitsOfLine * std::uint64_t{rank_map.locations()});
  lines_.reserve(store_.lines().size());
  for (const TimeLine& line : store_.lines())
    find_latest(lines_.emplace_back(line, matched.regions, store_.spill()));
}

/// Leaves out parts and completions, which nobody is to blame for.
void WaitRounds::find_latest(Line& line) {
  for (; line.next > 0; --line.next) {
    line.latest = line.compared.line().waits[line.next - 1];
    if (is_whole_wait(line.latest.pattern)) return;
  }
}

/// Over all ranks: when the latest wait ended that was not looked at yet; 0 for none.
std::uint64_t WaitRounds::latest_wait() {
  std::uint64_t latest = 0;
  for (const Line& line : lines_) {
    if (line.next > 0) latest = std::max(latest, line.latest.until_ns);
  }
  return analysis_.all_max(latest);
}

bool WaitRounds::next() {
  const std::uint64_t latest = latest_wait();
  since_ = latest > length_.ns() ? latest - length_.ns() : 0;
  listed_.clear();
  intervals_.forget();
  return latest != 0;
}

/// Some lines at a time: what is requested for all of them would fit into no cache. While others find out
/// what was requested last, the answers that came are gone through, and the next lines.
void WaitRounds::explain(const Explain& explain) {
  std::uint32_t line = 0;
  for (std::size_t explained = 0, answered = 0;; answered = listed_.size()) {
    for (; line < lines_.size() && intervals_.size() < intervals_together_; ++line) list(line);
    intervals_.send(exchange_);
    if (!exchange_.deliver_once(*this)) break;
    for (; explained < answered; ++explained) explain(explained);
  }
  const std::uint64_t count = analysis_.all_sum(listed_.size());
  length_.adapt(count > waits_per_round_, count < waits_per_round_ / 2);
}

/// Those of one line: what their delayers did is requested where that was recorded.
void WaitRounds::list(std::uint32_t at) {
  Line& own = lines_[at];
  own.listed = static_cast<std::uint32_t>(listed_.size());
  while (own.next > 0 && own.latest.until_ns > since_) {
    const Location delayer = own.latest.cause.location;
    const IntervalKey key(own.latest, own.compared.began_ns());
    listed_.push_back({.line = at,
                       .index = --own.next,
                       .interval = intervals_.request(rank_map_.holder_of(delayer), key),
                       .delayer = delayer});
    find_latest(own);
  }
  own.listed_end = static_cast<std::uint32_t>(listed_.size());
  own.propagated.list(own.next);
}

void WaitRounds::receive(const IntervalRequest& notice) {
  Line& own = line_of(notice.interval.cause.location);
  intervals_.answer(notice, own.compared, own.propagated, exchange_);
}

/// Waits to which nothing more will come, and those to which that leads.
void WaitRounds::pass_on(const Divide& divide) {
  divide_ = &divide;
  passed_on_ = 0;
  for (std::size_t number = 0; number < listed_.size(); ++number) {
    const Listed& one = listed_[number];
    const PropagatedCost& propagated = lines_[one.line].propagated;
    if (!propagated.taken(one.index) && propagated.complete(one.index)) pass_on(number);
  }
  exchange_.deliver(*this);
  // What is left waits for itself: only contradictory clocks can say so. All of it is passed on before any of
  // it arrives, on however many ranks of the analysis.
  for (std::size_t number = 0; passed_on_ != listed_.size() && number < listed_.size(); ++number) {
    const Listed& one = listed_[number];
    if (!lines_[one.line].propagated.taken(one.index)) pass_on(number);
  }
  exchange_.deliver(*this);
  divide_ = nullptr;
  for (Line& line : lines_) line.propagated.close();
}

void WaitRounds::pass_on(std::size_t number) {
  ++passed_on_;
  const Listed& one = listed_[number];
  const std::uint64_t to_waits = (*divide_)(number, lines_[one.line].propagated.take(one.index));
  const PropagatedCost::Range waits = delayer(number).waits;
  if (waits.first >= waits.last) {
    late_ns_ += to_waits;
    return;
  }
  exchange_.send(rank_map_.holder_of(one.delayer),
                 PassedOnNotice{.delayer = one.delayer, .waits = waits, .ns = to_waits});
}

void WaitRounds::receive(const PassedOnNotice& notice) {
  Line& own = line_of(notice.delayer);
  ready_.clear();
  late_ns_ += own.propagated.give(notice.waits, notice.ns, ready_);
  pass_on_ready(own);
}

/// Waits of a line to which nothing more will come.
void WaitRounds::pass_on_ready(const Line& own) {
  const auto begin = listed_.begin() + own.listed;
  const auto end = listed_.begin() + own.listed_end;
  for (const std::uint32_t wait : ready_) {
    const auto found = std::lower_bound(begin, end, wait,
                                        [](const Listed& one, std::uint32_t at) { return one.index > at; });
    // Parts of waits are nobody's concern.
    if (found != end && found->index == wait && !own.propagated.taken(wait))
      pass_on(static_cast<std::size_t>(found - listed_.begin()));
  }
}

std::uint64_t WaitRounds::contradictory_ns() const {
  std::uint64_t ns = late_ns_;
  // These were gone through before what they are said to have caused.
  for (const Line& line : lines_) ns += line.propagated.left();
  return ns;
}

}  // namespace culprit::waits
