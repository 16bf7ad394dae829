#include "waits/settle.hpp"

#include <algorithm>
#include <queue>
#include <span>
#include <tuple>

namespace culprit::waits {

namespace {

/// Of two candidates of one call the one that decides; ties go to the lowest time line.
bool decides(const Candidate& a, const Candidate& b, bool earliest) {
  if (a.until_ns != b.until_ns) return earliest ? a.until_ns < b.until_ns : a.until_ns > b.until_ns;
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

bool inside(const Event& event, std::uint64_t ns) {
  return event.enter_ns < ns && ns < event.exit_ns;
}

/// Late senders that may yet turn out to have been waited for in the wrong order: until a message that had
/// been sent earlier is received.
class WrongOrder {
 public:
  void waited(std::size_t wait, std::uint64_t sent_ns) { open_.push({sent_ns, wait}); }

  /// A message that was sent at `sent_ns` is received: marks the waits for later ones.
  void received(std::uint64_t sent_ns, std::vector<std::size_t>& marked) {
    while (!open_.empty() && open_.top().sent_ns > sent_ns) {
      marked.push_back(open_.top().wait);
      open_.pop();
    }
  }

 private:
  struct Open {
    std::uint64_t sent_ns;
    std::size_t wait;
    friend bool operator<(const Open& a, const Open& b) { return a.sent_ns < b.sent_ns; }
  };
  std::priority_queue<Open> open_;
};

class Settlement {
 public:
  explicit Settlement(TimeLine& line) : line_(line) {}

  std::vector<Wait> run() {
    const auto by_event = [](const auto& a, const auto& b) { return a.event < b.event; };
    std::sort(line_.candidates.begin(), line_.candidates.end(), [](const Candidate& a, const Candidate& b) {
      return std::tuple(a.event, a.pattern, a.until_ns, a.since_ns, a.cause) <
             std::tuple(b.event, b.pattern, b.until_ns, b.since_ns, b.cause);
    });
    std::sort(line_.meetings.begin(), line_.meetings.end(), [](const Meeting& a, const Meeting& b) {
      return std::tuple(a.event, a.other, a.sent_ns) < std::tuple(b.event, b.other, b.sent_ns);
    });
    auto meeting = line_.meetings.begin();
    for (auto first = line_.candidates.begin(); first != line_.candidates.end();) {
      const auto last = std::upper_bound(first, line_.candidates.end(), *first, by_event);
      for (; meeting != line_.meetings.end() && meeting->event <= first->event; ++meeting) {
        received(*meeting);  // also those of this very call: they came no later than what it waited for
      }
      settle_call({first, last});
      first = last;
    }
    for (; meeting != line_.meetings.end(); ++meeting) received(*meeting);
    return with_wrong_order();
  }

 private:
  void settle_call(std::span<const Candidate> candidates) {
    const std::uint32_t index = candidates.front().event;
    const Event& event = line_.events[index];
    const Candidate* main = decisive(candidates, event.any, is_wait);
    if (main != nullptr && inside(event, main->until_ns)) {
      if (main->pattern == Pattern::late_sender) wrong_order_.waited(waits_.size(), main->until_ns);
      add(index, main->pattern, event.enter_ns, main->until_ns, main->cause);
      waits_.back().first = main->first;
    } else {
      main = nullptr;
    }
    if (main != nullptr && main->pattern == Pattern::early_wait) late_complete(candidates, *main);
    early_fence(candidates, main);
    completion(candidates);
  }

  /// Of an early wait, what lies after the last origin's data had arrived.
  void late_complete(std::span<const Candidate> candidates, const Candidate& main) {
    std::uint64_t since = line_.events[main.event].enter_ns;
    for (const Candidate& candidate : candidates) {
      if (candidate.pattern == Pattern::late_complete) since = std::max(since, candidate.since_ns);
    }
    if (since < main.until_ns) add(main.event, Pattern::late_complete, since, main.until_ns, main.cause);
  }

  void early_fence(std::span<const Candidate> candidates, const Candidate* main) {
    const Candidate* last =
        decisive(candidates, false, [](Pattern pattern) { return pattern == Pattern::early_fence; });
    if (last == nullptr) return;
    const Event& event = line_.events[last->event];
    if (!inside(event, last->until_ns)) return;
    if (main == nullptr) {
      add(last->event, Pattern::wait_at_fence, event.enter_ns, last->until_ns, last->cause);
      waits_.back().cause_ends = true;
    }
    add(last->event, Pattern::early_fence, event.enter_ns, last->until_ns, last->cause);
  }

  void completion(std::span<const Candidate> candidates) {
    for (const Candidate& candidate : candidates) {
      if (candidate.pattern != Pattern::barrier_completion && candidate.pattern != Pattern::nxn_completion)
        continue;
      const std::uint64_t exit = line_.events[candidate.event].exit_ns;
      if (candidate.since_ns < exit) {
        add(candidate.event, candidate.pattern, candidate.since_ns, exit, candidate.cause);
      }
    }
  }

  void add(std::uint32_t event, Pattern pattern, std::uint64_t since, std::uint64_t until, EventId cause) {
    waits_.push_back({.event = event,
                      .pattern = pattern,
                      .ns = until - since,
                      .until_ns = until,
                      .cause = cause,
                      .cause_ends = pattern == Pattern::early_fence});
  }

  void received(const Meeting& meeting) {
    if (meeting.sent_ns == 0) return;
    wrong_order_.received(meeting.sent_ns, in_wrong_order_);
  }

  std::vector<Wait> with_wrong_order() {
    std::sort(in_wrong_order_.begin(), in_wrong_order_.end());
    std::vector<Wait> all;
    all.reserve(waits_.size() + in_wrong_order_.size());
    auto next = in_wrong_order_.begin();
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      all.push_back(waits_[i]);
      if (next == in_wrong_order_.end() || *next != i) continue;
      ++next;
      all.push_back(waits_[i]);
      all.back().pattern = Pattern::late_sender_wrong_order;
    }
    return all;
  }

  TimeLine& line_;
  std::vector<Wait> waits_;
  std::vector<std::size_t> in_wrong_order_;
  WrongOrder wrong_order_;
};

}  // namespace

void settle(TimeLine& line) {
  line.waits = Settlement(line).run();
}

}  // namespace culprit::waits
