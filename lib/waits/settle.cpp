#include "waits/settle.hpp"

#include <algorithm>
#include <span>
#include <tuple>

namespace culprit::waits {

namespace {

/// Of two candidates of one call the one that decides; ties go to the lowest time line.
bool decides(const Candidate& a, const Candidate& b, bool earliest) {
  if (a.ns != b.ns) return earliest ? a.ns < b.ns : a.ns > b.ns;
  return std::tuple(a.cause, a.pattern) < std::tuple(b.cause, b.pattern);
}

const Candidate* decisive(std::span<const Candidate> candidates, bool earliest, auto&& counts) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (counts(candidate.pattern) && (best == nullptr || decides(candidate, *best, earliest)))
      best = &candidate;
  }
  return best;
}

/// So many candidates before a call is looked at, it is brought into the cache: it was read long ago.
constexpr std::ptrdiff_t kAhead = 8;

bool inside(const Event& event, std::uint64_t ns) {
  return event.enter_ns < ns && ns < event.exit_ns;
}

}  // namespace

const LineTimes& Settlement::settle(TimeLine& line) {
  line_ = &line;
  times_.clear();
  sum_ns_ = 0;
  told_ = {};
  next_sample_ = 0;
  const std::uint32_t together = line.calls_sorted_together;
  const std::size_t count = line.events.size();
  last_ = static_cast<std::uint32_t>(count) - 1;
  find_least_sent((count + together - 1) / together);
  for (std::size_t first = 0; first < count; first += together) {
    settle_part(first / together, static_cast<std::uint32_t>(first),
                static_cast<std::uint32_t>(std::min<std::size_t>(first + together, count)));
  }
  sums_.close(line.location);
  return times_;
}

/// The calls from `first` to before `last`.
void Settlement::settle_part(std::size_t part, std::uint32_t first, std::uint32_t last) {
  line_->candidates.take(part, candidates_, [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.pattern, a.ns, a.cause) < std::tuple(b.pattern, b.ns, b.cause);
  });
  line_->receipts.take(part, receipts_,
                       [](const Receipt& a, const Receipt& b) { return a.sent_ns < b.sent_ns; });
  find_least_sent_after(part);
  part_.clear();
  for (auto begin = candidates_.cbegin(); begin != candidates_.cend();) {
    const auto end = std::find_if(begin, candidates_.cend(),
                                  [begin](const Candidate& one) { return one.event != begin->event; });
    if (candidates_.cend() - begin > kAhead) line_->events.prefetch(begin[kAhead].event);
    decide({begin, end});
    begin = end;
  }
  part_.push_back({.event = last});  // no call of this part
  tell_events(first, last);
  take_samples(last);
}

// ---- what calls waited for

/// All candidates of one call.
void Settlement::decide(std::span<const Candidate> candidates) {
  const std::uint32_t index = candidates.front().event;
  event_ = line_->events[index];
  decided_ = {.event = index};
  const std::size_t before = line_->waits.size();
  find_waits(candidates);
  decided_.waits = static_cast<std::uint32_t>(line_->waits.size() - before);
  if (decided_.waits != 0) part_.push_back(decided_);
}

void Settlement::find_waits(std::span<const Candidate> candidates) {
  const std::uint32_t index = candidates.front().event;
  const Candidate* main = decisive(candidates, event_.any, is_wait);
  if (main != nullptr && inside(event_, main->ns)) {
    add_wait(main->pattern, *main, false);
    if (main->pattern == Pattern::late_sender && least_sent_after(index) < main->ns) {
      add(Pattern::late_sender_wrong_order, event_.enter_ns, main->ns, *main);
    }
  } else {
    main = nullptr;
  }
  if (main != nullptr && main->pattern == Pattern::early_wait) late_complete(candidates, *main);
  early_fence(candidates, main);
  completion(candidates);
}

/// Of an early wait, what lies after the last origin's data had arrived.
void Settlement::late_complete(std::span<const Candidate> candidates, const Candidate& main) {
  std::uint64_t since = event_.enter_ns;
  for (const Candidate& candidate : candidates) {
    if (candidate.pattern == Pattern::late_complete) since = std::max(since, candidate.ns);
  }
  if (since < main.ns) add(Pattern::late_complete, since, main.ns, main);
}

void Settlement::early_fence(std::span<const Candidate> candidates, const Candidate* main) {
  const Candidate* last =
      decisive(candidates, false, [](Pattern pattern) { return pattern == Pattern::early_fence; });
  if (last == nullptr) return;
  if (!inside(event_, last->ns)) return;
  if (main == nullptr) add_wait(Pattern::wait_at_fence, *last, true);
  add(Pattern::early_fence, event_.enter_ns, last->ns, *last);
}

void Settlement::completion(std::span<const Candidate> candidates) {
  for (const Candidate& candidate : candidates) {
    if (candidate.pattern != Pattern::barrier_completion && candidate.pattern != Pattern::nxn_completion)
      continue;
    if (candidate.ns < event_.exit_ns) add(candidate.pattern, candidate.ns, event_.exit_ns, candidate);
  }
}

/// A wait since the call's enter, no part of one.
void Settlement::add_wait(Pattern pattern, const Candidate& on, bool cause_ends) {
  decided_.ns = on.ns - event_.enter_ns;
  decided_.until_ns = on.ns;
  decided_.wait = static_cast<std::uint32_t>(line_->waits.size());
  sum_ns_ += decided_.ns;
  add(pattern, event_.enter_ns, on.ns, on);
  Wait& wait = line_->waits.change(decided_.wait);
  wait.first = on.first;
  wait.cause_ends = cause_ends;
}

void Settlement::add(Pattern pattern, std::uint64_t since, std::uint64_t until, const Candidate& on) {
  Wait& wait = line_->waits.extend();
  wait = Wait{};
  wait.event = on.event;
  wait.pattern = pattern;
  wait.cause_ends = pattern == Pattern::early_fence;
  wait.ns = until - since;
  wait.until_ns = until;
  wait.cause = on.cause;
  wait.sum_ns = sum_ns_;
  wait.context = event_.context;
  wait.cause_context = on.cause_context;
  sums_.add(wait);
}

// ---- what events tell of it, and what they took otherwise

/// The calls from `first` to before `last`, of which part_ tells who waited.
void Settlement::tell_events(std::uint32_t first, std::uint32_t last) {
  told_.next = 0;
  while (first < last) {
    const std::span<Event> all = line_->events.change_together(first);
    const std::span<Event> events = all.first(std::min<std::size_t>(all.size(), last - first));
    tell_block(first, events);
    first += static_cast<std::uint32_t>(events.size());
    for (const std::uint32_t wait : overlapped_) line_->waits.change(wait).overlapped = true;
    overlapped_.clear();
  }
}

void Settlement::tell_block(std::uint32_t first, std::span<Event> events) {
  Told told = told_;  // apart: what others might refer to is read and written for each event
  std::uint32_t index = first;
  for (Event& event : events) {
    const std::uint32_t gap = pieces_.of_gap(event.gap);
    event.gap = 0xfffffffU & gap;
    event.waits = told.waits;
    event.wait = 0;
    if (event.enter_ns < told.until_ns) overlap(told.latest);
    if (event.enter_ns > told.left_ns) {
      times_.add(gap, event.enter_ns - told.left_ns);
      if (event.sampled) sampled_.push_back({index, gap});
    }
    told.left_ns = event.exit_ns;
    std::uint64_t own_ns = event.exit_ns - event.enter_ns;
    const Decided& decided = part_[told.next];
    if (decided.event == index) {
      ++told.next;
      event.wait = static_cast<std::uint32_t>(std::min<std::uint64_t>(decided.ns, Event::kLongWait));
      own_ns -= std::min(own_ns, decided.ns);
      told.waits += decided.waits;
      if (decided.until_ns != 0) {
        told.until_ns = decided.until_ns;
        told.latest = decided.wait;
      }
    }
    if (index == last_) {
      times_.add_last_call(event.context, own_ns);
    } else {
      times_.add(pieces_.of_call(event.context), own_ns);
    }
    ++index;
  }
  told_ = told;
}

/// Another call was entered before this wait ended.
void Settlement::overlap(std::uint32_t wait) {
  if (overlapped_.empty() || overlapped_.back() != wait) overlapped_.push_back(wait);
}

/// In the gaps before call `until`.
void Settlement::take_samples(std::uint32_t until) {
  auto gap = sampled_.cbegin();
  for (; next_sample_ < line_->samples.size(); ++next_sample_) {
    const Sample sample = line_->samples[next_sample_];
    if (sample.gap >= until) break;
    while (gap != sampled_.cend() && gap->call < sample.gap) ++gap;
    if (gap == sampled_.cend()) continue;
    if (gap->call == sample.gap) times_.add_sample(gap->piece, sample.context, sample.ns);
  }
  sampled_.clear();
}

// ---- a late sender is waited for in the wrong order if a message that was sent earlier is received later

/// For each part, when the earliest message was sent that is received in it or after it.
void Settlement::find_least_sent(std::size_t parts) {
  least_sent_ = line_->least_sent;
  least_sent_.resize(parts + 1, TimeLine::kNever);
  for (std::size_t part = parts; part-- > 0;) {
    least_sent_[part] = std::min(least_sent_[part], least_sent_[part + 1]);
  }
}

void Settlement::find_least_sent_after(std::size_t part) {
  next_receipt_ = 0;
  least_sent_from_.resize(receipts_.size() + 1);
  least_sent_from_.back() = least_sent_[part + 1];
  for (std::size_t i = receipts_.size(); i-- > 0;) {
    least_sent_from_[i] = std::min(least_sent_from_[i + 1], receipts_[i].sent_ns);
  }
}

/// Calls are asked for in their order.
std::uint64_t Settlement::least_sent_after(std::uint32_t index) {
  while (next_receipt_ < receipts_.size() && receipts_[next_receipt_].event <= index) ++next_receipt_;
  return least_sent_from_[next_receipt_];
}

}  // namespace culprit::waits
