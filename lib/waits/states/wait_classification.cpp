// Classifies waits: decides what each call of a time line waited for, once all candidates are known
// (definitions of Hermanns 2009 and Scalasca; docs/algorithms.md 7). The latest candidate decides, or the
// earliest where the call returns at the first of its operations. The call waited only if that moment lies
// between its enter and its exit. A receive that was posted after the exit shows that its send needed none,
// nor did smaller ones of the call: then its other operations decide. They also decide, where they can, in
// later calls with such sends to the same receiver: two ranks that exchange small messages wait for each
// other's sends. Then the parts of waits (wrong order, late complete, early fence) and completions are added.
// Candidates come in no order: they are sorted for some thousand calls at a time. The same pass adds up what
// the line spent in its computation regions. Cost: linear in events and candidates.
#include "waits/states/wait_classification.hpp"

#include "waits/timeline/dependencies.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

namespace culprit::waits {

namespace {

/// Of two candidates of one call the one that decides; ties go to the lowest time line.
bool decides(const Candidate& a, const Candidate& b, bool earliest) {
  if (a.ns != b.ns) return earliest ? a.ns < b.ns : a.ns > b.ns;
  return std::tuple(a.cause, a.pattern) < std::tuple(b.cause, b.pattern);
}

/// A call that completed without this receive: its send was eager.
bool shows_eager(const Event& event, const Candidate& candidate) {
  return !event.any && candidate.pattern == WaitPattern::late_receiver && candidate.ns >= event.exit_ns &&
         candidate.size != Dependency::kSynchronous;
}

bool inside(const Event& event, std::uint64_t ns) {
  return event.enter_ns < ns && ns < event.exit_ns;
}

}  // namespace

const LineTimes& WaitClassification::classify(TimeLine& line) {
  line_ = &line;
  times_.clear();
  largest_eager_.clear();
  sum_ns_ = 0;
  before_ = {};
  next_sample_ = 0;
  const std::uint32_t together = line.calls_sorted_together;
  const std::size_t count = line.events.size();
  last_ = static_cast<std::uint32_t>(count) - 1;
  find_least_sent((count + together - 1) / together);
  for (std::size_t first = 0; first < count; first += together) {
    classify_part(first / together, static_cast<std::uint32_t>(first),
                  static_cast<std::uint32_t>(std::min<std::size_t>(first + together, count)));
  }
  keep_sampled();
  sums_.close(line.location);
  return times_;
}

void WaitClassification::keep_sampled() {
  std::map<std::uint32_t, std::uint64_t> sums;
  for (const LineTimes::Sampled& one : times_.samples()) sums[one.region] += one.ns;
  line_->sampled_ns.assign(sums.begin(), sums.end());
}

/// The calls from `first` to before `last`.
void WaitClassification::classify_part(std::size_t part, std::uint32_t first, std::uint32_t last) {
  line_->candidates.take(part, candidates_, [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.pattern, a.ns, a.cause) < std::tuple(b.pattern, b.ns, b.cause);
  });
  candidates_.emplace_back().event = last;  // no call of this part
  candidate_ = candidates_.data();
  line_->receipts.take(part, receipts_,
                       [](const Receipt& a, const Receipt& b) { return a.sent_ns < b.sent_ns; });
  find_least_sent_after(part);
  for (std::uint32_t index = first; index < last;) {
    waits_before_ = static_cast<std::uint32_t>(line_->waits.size());
    const std::span<Event> all = line_->events.change_together(index);
    const std::span<Event> events = all.first(std::min<std::size_t>(all.size(), last - index));
    classify_block(index, events);
    index += static_cast<std::uint32_t>(events.size());
    add_waits();
  }
  take_samples(last);
}

/// Events that lie together, the first of which is call `first`: no other sequence can be used meanwhile.
void WaitClassification::classify_block(std::uint32_t first, std::span<Event> events) {
  Before before = before_;  // apart: what others might refer to is read and written for each event
  std::uint32_t index = first;
  for (Event& event : events) {
    const std::uint32_t gap = regions_.of_gap(event.gap);
    event.gap = 0xfffffffU & gap;
    event.waits = waits_before_ + static_cast<std::uint32_t>(found_.size());
    event.wait = 0;
    if (event.enter_ns < before.until_ns) overlap(before.latest);
    if (event.enter_ns > before.left_ns) {
      times_.add(gap, event.enter_ns - before.left_ns);
      if (event.sampled) sampled_.push_back({index, gap});
    }
    before.left_ns = event.exit_ns;
    std::uint64_t own_ns = event.exit_ns - event.enter_ns;
    if (candidate_->event == index) {
      const Candidate* const begin = candidate_;
      while (candidate_->event == index) ++candidate_;
      const Decided decided = decide(event, {begin, candidate_});
      if (decided.until_ns != 0) {
        event.wait = static_cast<std::uint32_t>(std::min<std::uint64_t>(decided.ns, Event::kLongWait));
        own_ns -= std::min(own_ns, decided.ns);
        before.until_ns = decided.until_ns;
        before.latest = event.waits;
      }
    }
    if (index == last_) {
      times_.add_last_call(event.context, own_ns);
    } else {
      times_.add(regions_.of_call(event.context), own_ns);
    }
    ++index;
  }
  before_ = before;
}

/// Another call was entered before this wait ended.
void WaitClassification::overlap(std::uint32_t wait) {
  if (overlapped_.empty() || overlapped_.back() != wait) overlapped_.push_back(wait);
}

/// What was found of the events that lie together.
void WaitClassification::add_waits() {
  for (const Wait& wait : found_) line_->waits.push_back(wait);
  found_.clear();
  for (const std::uint32_t wait : overlapped_) line_->waits.change(wait).overlapped = true;
  overlapped_.clear();
}

// ---- what calls waited for

void WaitClassification::note_eager(const Event& event, std::span<const Candidate> candidates) {
  for (const Candidate& candidate : candidates) {
    if (!shows_eager(event, candidate)) continue;
    int& largest = largest_eager_.try_emplace(candidate.cause.location, -1).first->second;
    largest = std::max(largest, int{candidate.size});
  }
}

/// Whether the send needs no receive, as far as was seen up to its call.
bool WaitClassification::is_eager(const Candidate& candidate) const {
  if (candidate.pattern != WaitPattern::late_receiver) return false;
  const auto largest = largest_eager_.find(candidate.cause.location);
  return largest != largest_eager_.end() && candidate.size <= largest->second;
}

/// The candidate that decides whether the call waited. Small messages may wait for the receiver, too, where
/// too many of them are under way: only where nothing else keeps the call.
const Candidate* WaitClassification::choose(const Event& event, std::span<const Candidate> candidates) const {
  const Candidate* chosen = nullptr;
  const Candidate* eager = nullptr;
  int largest_eager = -1;
  for (const Candidate& candidate : candidates) {
    if (shows_eager(event, candidate)) largest_eager = std::max(largest_eager, int{candidate.size});
  }
  for (const Candidate& candidate : candidates) {
    if (!is_whole_wait(candidate.pattern)) continue;
    if (candidate.pattern == WaitPattern::late_receiver && candidate.size <= largest_eager) continue;
    const Candidate*& best = is_eager(candidate) ? eager : chosen;
    if (best == nullptr || decides(candidate, *best, event.any)) best = &candidate;
  }
  if (chosen != nullptr && inside(event, chosen->ns)) return chosen;
  if (eager == nullptr || (chosen != nullptr && decides(*chosen, *eager, event.any))) return nullptr;
  return inside(event, eager->ns) ? eager : nullptr;
}

/// All candidates of one call. Its wait comes first, where it waited.
WaitClassification::Decided WaitClassification::decide(const Event& event,
                                                       std::span<const Candidate> candidates) {
  note_eager(event, candidates);
  const Candidate* const main = choose(event, candidates);
  const bool rarer = std::any_of(candidates.begin(), candidates.end(),
                                 [](const Candidate& one) { return !is_whole_wait(one.pattern); });
  Decided decided;
  if (main != nullptr) decided = wait_for_main(event, *main);
  if (!rarer) return decided;
  if (main != nullptr && main->pattern == WaitPattern::early_wait) late_complete(event, candidates, *main);
  const Decided at_fence = early_fence(event, candidates, main != nullptr);
  completion(event, candidates);
  return main != nullptr ? decided : at_fence;
}

WaitClassification::Decided WaitClassification::wait_for_main(const Event& event, const Candidate& main) {
  const Decided decided = add_wait(main.pattern, event, main, false);
  if (main.pattern == WaitPattern::late_sender && !main.returned && least_sent_after(main.event) < main.ns)
    add(WaitPattern::late_sender_wrong_order, event, event.enter_ns, main.ns, main);
  return decided;
}

/// Of an early wait, what lies after the last origin's data had arrived.
void WaitClassification::late_complete(const Event& event, std::span<const Candidate> candidates,
                                       const Candidate& main) {
  std::uint64_t since = event.enter_ns;
  for (const Candidate& candidate : candidates) {
    if (candidate.pattern == WaitPattern::late_complete) since = std::max(since, candidate.ns);
  }
  if (since < main.ns) add(WaitPattern::late_complete, event, since, main.ns, main);
}

/// Part of what the call waited for, or, unless it `waits` for something else, all of it.
WaitClassification::Decided WaitClassification::early_fence(const Event& event,
                                                            std::span<const Candidate> candidates,
                                                            bool waits) {
  const Candidate* last = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.pattern != WaitPattern::early_fence) continue;
    if (last == nullptr || decides(candidate, *last, false)) last = &candidate;
  }
  if (last == nullptr || !inside(event, last->ns)) return {};
  Decided decided;
  if (!waits) decided = add_wait(WaitPattern::wait_at_fence, event, *last, true);
  add(WaitPattern::early_fence, event, event.enter_ns, last->ns, *last);
  return decided;
}

void WaitClassification::completion(const Event& event, std::span<const Candidate> candidates) {
  for (const Candidate& candidate : candidates) {
    if (candidate.pattern != WaitPattern::barrier_completion &&
        candidate.pattern != WaitPattern::nxn_completion)
      continue;
    if (candidate.ns < event.exit_ns) add(candidate.pattern, event, candidate.ns, event.exit_ns, candidate);
  }
}

/// A wait since the call's enter, no part of one.
WaitClassification::Decided WaitClassification::add_wait(WaitPattern pattern, const Event& event,
                                                         const Candidate& on, bool cause_ends) {
  const std::uint64_t ns = on.ns - event.enter_ns;
  sum_ns_ += ns;
  Wait& wait = add(pattern, event, event.enter_ns, on.ns, on);
  wait.first = on.first;
  wait.cause_ends = cause_ends;
  return {.ns = ns, .until_ns = on.ns};
}

/// Which can be changed until the next one.
Wait& WaitClassification::add(WaitPattern pattern, const Event& event, std::uint64_t since,
                              std::uint64_t until, const Candidate& on) {
  Wait& wait = found_.emplace_back();
  wait.event = on.event;
  wait.pattern = pattern;
  wait.cause_ends = pattern == WaitPattern::early_fence;
  wait.contended = pattern == WaitPattern::lock_wait && on.since != Candidate::kNoCall;
  wait.other = on.since;
  wait.ns = until - since;
  wait.until_ns = until;
  wait.cause = on.cause;
  wait.sum_ns = sum_ns_;
  wait.context = event.context;
  wait.cause_context = on.cause_context;
  sums_.add(wait);
  return wait;
}

/// In the gaps before call `until`.
void WaitClassification::take_samples(std::uint32_t until) {
  auto gap = sampled_.cbegin();
  for (; next_sample_ < line_->samples.size(); ++next_sample_) {
    const Sample sample = line_->samples[next_sample_];
    if (sample.gap >= until) break;
    while (gap != sampled_.cend() && gap->call < sample.gap) ++gap;
    if (gap == sampled_.cend()) continue;
    if (gap->call == sample.gap) times_.add_sample(gap->region, sample.charged, sample.ns);
  }
  sampled_.clear();
}

// ---- a late sender is waited for in the wrong order if a message that was sent earlier is received later

/// For each part, when the earliest message was sent that is received in it or after it.
void WaitClassification::find_least_sent(std::size_t parts) {
  least_sent_ = line_->least_sent;
  least_sent_.resize(parts + 1, TimeLine::kNever);
  for (std::size_t part = parts; part-- > 0;) {
    least_sent_[part] = std::min(least_sent_[part], least_sent_[part + 1]);
  }
}

void WaitClassification::find_least_sent_after(std::size_t part) {
  next_receipt_ = 0;
  least_sent_from_.resize(receipts_.size() + 1);
  least_sent_from_.back() = least_sent_[part + 1];
  for (std::size_t i = receipts_.size(); i-- > 0;) {
    least_sent_from_[i] = std::min(least_sent_from_[i + 1], receipts_[i].sent_ns);
  }
}

/// Calls are asked for in their order.
std::uint64_t WaitClassification::least_sent_after(std::uint32_t index) {
  while (next_receipt_ < receipts_.size() && receipts_[next_receipt_].event <= index) ++next_receipt_;
  return least_sent_from_[next_receipt_];
}

}  // namespace culprit::waits
