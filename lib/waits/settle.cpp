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

bool inside(const Event& event, std::uint64_t ns) {
  return event.enter_ns < ns && ns < event.exit_ns;
}

class Settlement {
 public:
  Settlement(TimeLine& line, const Pieces& pieces) : line_(line), pieces_(pieces) {}

  void run() {
    const std::uint32_t together = line_.calls_sorted_together;
    const std::size_t count = line_.events.size();
    find_least_sent((count + together - 1) / together);
    for (std::size_t first = 0; first < count; first += together) {
      settle_part(first / together, static_cast<std::uint32_t>(first),
                  static_cast<std::uint32_t>(std::min<std::size_t>(first + together, count)));
    }
  }

 private:
  /// The calls from `first` to before `last`.
  void settle_part(std::size_t part, std::uint32_t first, std::uint32_t last) {
    line_.candidates.take(part, candidates_, [](const Candidate& a, const Candidate& b) {
      return std::tuple(a.pattern, a.ns, a.cause) < std::tuple(b.pattern, b.ns, b.cause);
    });
    line_.receipts.take(part, receipts_,
                        [](const Receipt& a, const Receipt& b) { return a.sent_ns < b.sent_ns; });
    find_least_sent_after(part);
    next_receipt_ = 0;
    auto candidate = candidates_.cbegin();
    for (std::uint32_t index = first; index < last; ++index) {
      const auto begin = candidate;
      while (candidate != candidates_.cend() && candidate->event == index) ++candidate;
      settle_call(index, {begin, candidate});
    }
  }

  void settle_call(std::uint32_t index, std::span<const Candidate> candidates) {
    event_ = line_.events[index];
    wait_ns_ = 0;
    if (event_.enter_ns < latest_until_ns_) line_.waits.change(latest_).overlapped = true;
    const auto waits = static_cast<std::uint32_t>(line_.waits.size());
    if (!candidates.empty()) find_waits(candidates);
    Event& settled = line_.events.change(index);
    settled.gap = 0xfffffffU & pieces_.of_gap(event_.gap);
    settled.waits = waits;
    settled.wait = static_cast<std::uint32_t>(std::min<std::uint64_t>(wait_ns_, Event::kLongWait));
    while (next_receipt_ < receipts_.size() && receipts_[next_receipt_].event == index) ++next_receipt_;
  }

  void find_waits(std::span<const Candidate> candidates) {
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
  void late_complete(std::span<const Candidate> candidates, const Candidate& main) {
    std::uint64_t since = event_.enter_ns;
    for (const Candidate& candidate : candidates) {
      if (candidate.pattern == Pattern::late_complete) since = std::max(since, candidate.ns);
    }
    if (since < main.ns) add(Pattern::late_complete, since, main.ns, main);
  }

  void early_fence(std::span<const Candidate> candidates, const Candidate* main) {
    const Candidate* last =
        decisive(candidates, false, [](Pattern pattern) { return pattern == Pattern::early_fence; });
    if (last == nullptr) return;
    if (!inside(event_, last->ns)) return;
    if (main == nullptr) add_wait(Pattern::wait_at_fence, *last, true);
    add(Pattern::early_fence, event_.enter_ns, last->ns, *last);
  }

  void completion(std::span<const Candidate> candidates) {
    for (const Candidate& candidate : candidates) {
      if (candidate.pattern != Pattern::barrier_completion && candidate.pattern != Pattern::nxn_completion)
        continue;
      if (candidate.ns < event_.exit_ns) add(candidate.pattern, candidate.ns, event_.exit_ns, candidate);
    }
  }

  /// A wait since the call's enter, no part of one.
  void add_wait(Pattern pattern, const Candidate& on, bool cause_ends) {
    wait_ns_ = on.ns - event_.enter_ns;
    sum_ns_ += wait_ns_;
    add(pattern, event_.enter_ns, on.ns, on);
    Wait& wait = line_.waits.change(line_.waits.size() - 1);
    wait.first = on.first;
    wait.cause_ends = cause_ends;
    latest_ = line_.waits.size() - 1;
    latest_until_ns_ = on.ns;
  }

  void add(Pattern pattern, std::uint64_t since, std::uint64_t until, const Candidate& on) {
    Wait& wait = line_.waits.extend();
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
  }

  // ---- a late sender is waited for in the wrong order if a message that was sent earlier is received later

  /// For each part, when the earliest message was sent that is received in it or after it.
  void find_least_sent(std::size_t parts) {
    least_sent_ = line_.least_sent;
    least_sent_.resize(parts + 1, TimeLine::kNever);
    for (std::size_t part = parts; part-- > 0;) {
      least_sent_[part] = std::min(least_sent_[part], least_sent_[part + 1]);
    }
  }
  void find_least_sent_after(std::size_t part) {
    least_sent_from_.assign(receipts_.size() + 1, least_sent_[part + 1]);
    for (std::size_t i = receipts_.size(); i-- > 0;) {
      least_sent_from_[i] = std::min(least_sent_from_[i + 1], receipts_[i].sent_ns);
    }
  }
  [[nodiscard]] std::uint64_t least_sent_after(std::uint32_t index) const {
    std::size_t after = next_receipt_;
    while (after < receipts_.size() && receipts_[after].event == index) ++after;
    return least_sent_from_[after];
  }

  TimeLine& line_;
  const Pieces& pieces_;
  Event event_;                // that is being settled, as it was
  std::uint64_t wait_ns_ = 0;  // of it, found so far
  std::uint64_t sum_ns_ = 0;
  std::size_t latest_ = 0;             // wait, no part of one
  std::uint64_t latest_until_ns_ = 0;  // 0: there was none yet
  std::vector<Candidate> candidates_;
  std::vector<Receipt> receipts_;
  std::size_t next_receipt_ = 0;
  std::vector<std::uint64_t> least_sent_;       // by part: in it and those behind it
  std::vector<std::uint64_t> least_sent_from_;  // by receipt of this part: from there on
};

}  // namespace

void settle(TimeLine& line, const Pieces& pieces) {
  Settlement(line, pieces).run();
}

}  // namespace culprit::waits
