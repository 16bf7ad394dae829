// Brings a matched run into the form in which it is replayed (docs/algorithms.md 18). A call's dependencies
// say when it could end at the earliest; what it took beyond that is its own cost and stays. A dependency
// that began only after the call had ended delayed nobody and is left out. Whether a send, MPI_Win_start or
// an operation on a window waits for its partner at all is the library's choice: where the call itself does
// not show it, others of the run do (a send that ended before its receive was posted: such sizes do not
// wait). Many transfers go on only while their partner is inside MPI. A call that took longer than its needs
// explain, while a partner was outside MPI for most of that, needs that the partner comes back, too.
// Cost: three passes over the dependencies, and a search for each that a call of some length has. Memory: 24
// bytes for each part in a nonblocking collective.
#include "waits/replay/replay_steps.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace culprit::waits {

using measurement::trace::OperationKind;

namespace {

constexpr std::uint64_t kNever = CollectiveRecord::kNever;

/// A call that waited for longer did not do so by accident, and was not only busy with its message.
constexpr std::uint64_t kSurelyWaited = 50'000;

/// Where the run does not show it, larger messages wait for their receive.
constexpr std::uint64_t kUsualEagerBytes = 16384;

/// When calls of the run as it was could have ended.
class Observed {
 public:
  Observed(const TraceStore& store, const Dependencies& all) : store_(store), all_(all) {}

  /// When the cause came; kNever: it did not, or said nothing.
  [[nodiscard]] std::uint64_t when(const Dependency& need, const Joined* joined) const {
    if (need.on != Dependency::On::instance) {
      if (need.cause.location >= known_.size() || !known_[need.cause.location]) return kNever;
      const storage::Sequence<Event>& events = store_.line(need.cause.location).events;
      if (need.cause.index >= events.size()) return kNever;
      const Event cause = events[need.cause.index];
      return need.on == Dependency::On::exit ? cause.exit_ns : cause.enter_ns;
    }
    const CollectiveRecord& record = all_.instances()[need.cause.index];
    if (!record.whole()) return kNever;
    switch (record.kind) {
      case OperationKind::one_to_all:
        return record.root_ns;
      case OperationKind::prefix:
        return joined == nullptr ? kNever : latest_below(need.cause.index, joined->rank);
      case OperationKind::fence:
        return record.latest_ns > record.first_out_ns ? kNever : record.latest_ns;
      default:
        return record.latest_ns;
    }
  }
  void know(Location location) {
    if (location >= known_.size()) known_.resize(location + 1, false);
    known_[location] = true;
  }

 private:
  [[nodiscard]] std::uint64_t latest_below(std::uint32_t instance, std::int32_t rank) const {
    const std::vector<std::uint64_t>& enters = all_.enters(instance);
    std::uint64_t latest = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank) && i < enters.size(); ++i)
      latest = std::max(latest, enters[i]);
    return latest;
  }

  const TraceStore& store_;
  const Dependencies& all_;
  std::vector<bool> known_;  // time lines
};

/// What calls of the run show of the library.
struct Evidence {
  std::uint16_t largest_eager = 0, smallest_rendezvous = Dependency::kSynchronous;
  std::array<bool, kWaitPatterns> waited{}, passed{};  // kMayPass, by pattern
  bool any_eager = false;
};

bool may_pass(const Dependency& need) {
  return (need.pattern == WaitPattern::late_post || need.pattern == WaitPattern::early_transfer) &&
         need.size == Dependency::kMayPass;
}

bool is_standard_send(const Dependency& need) {
  return need.pattern == WaitPattern::late_receiver && need.size != Dependency::kSynchronous;
}

class Preparation {
 public:
  Preparation(const RankMap& rank_map, Matched& matched)
      : rank_map_(rank_map), store_(matched.store), all_(*matched.dependencies), observed_(store_, all_) {}

  ReplaySteps run() {
    for (const TimeLine& line : store_.lines()) {
      observed_.know(line.location);
      result_.lines.emplace_back(line.location, store_.spill());
    }
    for (std::size_t i = 0; i < result_.lines.size(); ++i) take_in_order(i);
    for (std::size_t i = 0; i < result_.lines.size(); ++i) find_completions(i);
    for (auto& [instance, calls] : completions_) std::ranges::sort(calls);
    for (std::size_t i = 0; i < result_.lines.size(); ++i) make_steps(i);
    for (std::size_t i = 0; i < result_.lines.size(); ++i) find_anchor(i);
    find_ends();
    return std::move(result_);
  }

 private:
  /// The dependencies of a line in the order of calls, and what they show. Those that nobody could have
  /// waited for are left out.
  void take_in_order(std::size_t at) {
    const TimeLine& line = store_.lines()[at];
    Dependencies::Line& from = all_.line(line.location);
    std::vector<Dependency> part;
    std::size_t joined = 0;
    for (std::size_t number = 0; number < from.found.parts(); ++number) {
      from.found.take(number, part, [](const Dependency& a, const Dependency& b) {
        return std::tuple(a.pattern, a.cause, a.on) < std::tuple(b.pattern, b.cause, b.on);
      });
      for (auto first = part.begin(); first != part.end();) {
        const auto last = std::find_if(first, part.end(),
                                       [&first](const Dependency& one) { return one.event != first->event; });
        take_call(result_.lines[at], line.events[first->event], {first, last}, from.joined, joined);
        first = last;
      }
    }
  }

  void take_call(StepLine& into, const Event& event, std::span<const Dependency> needs,
                 const storage::Sequence<Joined>& joins, std::size_t& joined) {
    std::uint64_t latest = 0;
    for (const Dependency& need : needs) {
      const std::uint64_t ns = when(need, joins, joined);
      if (ns < event.exit_ns) latest = std::max(latest, ns);
    }
    for (const Dependency& need : needs) {
      const std::uint64_t ns = when(need, joins, joined);
      if (ns == kNever) continue;
      learn(need, event, ns, ns == latest);
      if (ns < event.exit_ns) into.needs.push_back(need);
    }
  }

  /// Of a nonblocking prefix reduction, the part in the instance is that of a call before: not far.
  std::uint64_t when(const Dependency& need, const storage::Sequence<Joined>& joins, std::size_t& joined) {
    if (need.on != Dependency::On::instance ||
        all_.instances()[need.cause.index].kind != OperationKind::prefix)
      return observed_.when(need, nullptr);
    while (joined < joins.size() && joins[joined].event < need.event) ++joined;
    for (std::size_t i = joined; i < joins.size() && joins[i].event == need.event; ++i) {
      const Joined one = joins[i];
      if (one.instance == need.cause.index) return observed_.when(need, &one);
    }
    constexpr std::size_t kFar = 1024;
    for (std::size_t i = joined; i > 0 && i + kFar > joined; --i) {
      const Joined one = joins[i - 1];
      if (one.instance == need.cause.index) return observed_.when(need, &one);
    }
    return kNever;
  }

  /// A call that completes a nonblocking collective.
  struct Completion {
    std::uint64_t enter_ns = 0;
    EventId call;
    friend auto operator<=>(const Completion&, const Completion&) = default;  // NOLINT(modernize-use-nullptr)
  };

  void find_completions(std::size_t at) {
    const TimeLine& line = store_.lines()[at];
    result_.lines[at].needs.for_each([&](const Dependency& need) {
      if (need.on != Dependency::On::instance || need.size != Dependency::kNonblocking) return;
      const Event event = line.events[need.event];
      completions_[need.cause.index].push_back({event.enter_ns, {line.location, need.event}});
    });
  }

  /// The partner's longest absence from MPI while the call could not be explained: until when, by which call.
  struct Absence {
    std::uint64_t ns = 0, until_ns = 0;
    EventId call;
  };

  /// `began_ns`: from then on the call is unexplained.
  void look_at(EventId call, const Event& event, std::uint64_t began_ns, Absence& longest) const {
    const storage::Sequence<Event>& events = store_.line(call.location).events;
    const std::uint64_t enter_ns = events[call.index].enter_ns;
    if (enter_ns <= began_ns || enter_ns >= event.exit_ns) return;
    const std::uint64_t left_ns = call.index == 0 ? enter_ns : events[call.index - 1].exit_ns;
    const std::uint64_t out_ns = enter_ns - std::min(enter_ns, std::max(left_ns, began_ns));
    if (out_ns > longest.ns) longest = {out_ns, enter_ns, call};
  }

  /// How many calls of its line were entered before, where `call` was: searched from there on, as they are
  /// near.
  [[nodiscard]] std::size_t entered_before(std::uint64_t ns, EventId call) const {
    const storage::Sequence<Event>& events = store_.line(call.location).events;
    std::size_t low = call.index, step = 1;
    for (; low + step < events.size() && events[low + step].enter_ns < ns; step *= 2) low += step;
    const auto from = events.begin() + static_cast<std::ptrdiff_t>(low);
    const auto to = events.begin() + static_cast<std::ptrdiff_t>(std::min(low + step, events.size()));
    const auto found = std::lower_bound(
        from, to, ns, [](const Event& one, std::uint64_t limit) { return one.enter_ns < limit; });
    return static_cast<std::size_t>(found - events.begin());
  }

  void look_for(const Dependency& need, Location here, const Event& event, std::uint64_t began_ns,
                Absence& longest) const {
    constexpr std::size_t kCalls = 4;  // of a message's partner
    if (need.on == Dependency::On::instance) {
      const auto calls = completions_.find(need.cause.index);
      if (calls == completions_.end()) return;
      auto last = std::ranges::lower_bound(calls->second, event.exit_ns, {}, &Completion::enter_ns);
      while (last != calls->second.begin() && std::prev(last)->call.location == here) --last;
      if (last != calls->second.begin()) look_at(std::prev(last)->call, event, began_ns, longest);
      return;
    }
    const bool message =
        need.pattern == WaitPattern::late_sender || need.pattern == WaitPattern::late_receiver;
    if (!message || need.cause.location == here) return;
    const std::size_t end = entered_before(event.exit_ns, need.cause);
    for (std::size_t i = end; i > 0 && i + kCalls > end; --i)
      look_at({need.cause.location, static_cast<std::uint32_t>(i - 1)}, event, began_ns, longest);
  }

  void learn(const Dependency& need, const Event& event, std::uint64_t ns, bool decides) {
    const bool passed = ns >= event.exit_ns;
    const bool waited = decides && ns > event.enter_ns + kSurelyWaited && !passed;
    if (may_pass(need)) {
      const auto pattern = static_cast<std::size_t>(need.pattern);
      evidence_.passed[pattern] = evidence_.passed[pattern] || passed;
      evidence_.waited[pattern] = evidence_.waited[pattern] || waited;
    } else if (is_standard_send(need)) {
      if (passed) {
        evidence_.any_eager = true;
        evidence_.largest_eager = std::max(evidence_.largest_eager, need.size);
      }
      if (waited) evidence_.smallest_rendezvous = std::min(evidence_.smallest_rendezvous, need.size);
    }
  }

  /// Whether the call would have waited had its partner come later.
  [[nodiscard]] bool holds(const Dependency& need, const Event& event, std::uint64_t ns) const {
    const bool inside = ns > event.enter_ns + kSurelyWaited;
    if (may_pass(need)) {
      const auto pattern = static_cast<std::size_t>(need.pattern);
      return inside || (evidence_.waited[pattern] && !evidence_.passed[pattern]);
    }
    if (!is_standard_send(need)) return true;
    if (evidence_.any_eager && need.size <= evidence_.largest_eager)
      return inside && need.size >= evidence_.smallest_rendezvous;
    return inside || need.size >= evidence_.smallest_rendezvous || need.size > size_code(kUsualEagerBytes);
  }

  /// What the call was found to wait for until that partner was back (Late return); none: it was not.
  static WaitPattern late_return(const TimeLine& line, const Event& event, const EventId& partners) {
    if (event.wait == 0) return WaitPattern::none;
    const Wait wait = line.waits[event.waits];
    return wait.cause == partners ? wait.pattern : WaitPattern::none;
  }

  void make_steps(std::size_t at) {
    const TimeLine& line = store_.lines()[at];
    const storage::Sequence<Joined>& joins = all_.line(line.location).joined;
    StepLine& made = result_.lines[at];
    storage::Sequence<Dependency> found = std::move(made.needs);
    made.needs = storage::Sequence<Dependency>(store_.spill());
    std::size_t next = 0, joined = 0;
    std::uint64_t left_ns = 0;
    for (std::uint32_t index = 0; index < line.events.size(); ++index) {
      const Event event = line.events[index];
      Step step{.enter_ns = event.enter_ns,
                .needs = static_cast<std::uint32_t>(made.needs.size()),
                .context = event.context,
                .any = event.any,
                .fixed = index < line.initialized};
      step.gap_ns = index == 0 ? 0 : static_cast<std::int64_t>(event.enter_ns - left_ns);
      std::uint64_t free_ns = event.any ? kNever : 0;
      const std::size_t first = next;
      for (; next < found.size() && found[next].event == index; ++next) {
        const Dependency need = found[next];
        const std::uint64_t ns = when(need, joins, joined);
        if (!holds(need, event, ns)) continue;
        made.needs.push_back(need);
        free_ns = event.any ? std::min(free_ns, ns) : std::max(free_ns, ns);
      }
      if (free_ns == kNever) free_ns = 0;
      std::uint64_t began_ns = std::max(event.enter_ns, free_ns);
      if (!event.any && event.exit_ns > began_ns + kSurelyWaited) {
        Absence longest;
        for (std::size_t i = first; i < next; ++i)
          look_for(found[i], line.location, event, began_ns, longest);
        if (longest.ns * 2 >= event.exit_ns - began_ns) {
          made.needs.push_back(
              {.event = index, .pattern = late_return(line, event, longest.call), .cause = longest.call});
          began_ns = longest.until_ns;
        }
      }
      step.own_ns = event.exit_ns - std::min(event.exit_ns, began_ns);
      made.steps.push_back(step);
      left_ns = event.exit_ns;
    }
  }

  /// Threads beside a process's first are begun by it: behind its last call before.
  void find_anchor(std::size_t at) {
    StepLine& made = result_.lines[at];
    if (made.steps.empty() || made.steps[0].fixed) return;
    const Location first = rank_map_.location_of(rank_map_.rank_of(made.location), 0);
    if (first == made.location) return;
    const storage::Sequence<Event>& events = store_.line(first).events;
    const std::uint64_t begin = made.steps[0].enter_ns;
    const auto after = std::upper_bound(events.begin(), events.end(), begin,
                                        [](std::uint64_t ns, const Event& one) { return ns < one.exit_ns; });
    if (after == events.begin()) return;
    const auto index = static_cast<std::uint32_t>(after - events.begin()) - 1;
    made.anchor = {first, index};
    made.lag_ns = begin - events[index].exit_ns;
  }

  void find_ends() {
    result_.begin_ns = kNever;
    for (const TimeLine& line : store_.lines()) {
      if (line.initialized == 0) continue;
      result_.begin_ns = std::min(result_.begin_ns, line.events[line.initialized - 1].exit_ns);
    }
    for (const TimeLine& line : store_.lines()) {
      if (line.events.empty()) continue;
      if (result_.begin_ns == kNever) result_.begin_ns = line.events.front().enter_ns;
      result_.end_ns = std::max(result_.end_ns, line.events.back().exit_ns);
    }
    if (result_.begin_ns == kNever) result_.begin_ns = 0;
  }

  const RankMap& rank_map_;
  TraceStore& store_;
  Dependencies& all_;
  Observed observed_;
  Evidence evidence_;
  std::unordered_map<std::uint32_t, std::vector<Completion>> completions_;  // by instance; earliest first
  ReplaySteps result_;
};

}  // namespace

ReplaySteps replay_steps(const RankMap& rank_map, Matched& matched) {
  return Preparation(rank_map, matched).run();
}

}  // namespace culprit::waits
