// Carries out a run again with other work (docs/algorithms.md 18): a discrete event simulation in which each
// time line goes on until its call needs one that has not come yet, and is taken up again when that comes.
//   enter = exit of the call before + gap
//   exit  = max(enter, when the last of its needs came) + own cost
//   wait  = when the last of its needs came - enter, where that is positive; but for needs of progress
//
// A time line that waits is in a queue at the line or the collective instance that it waits for. The order in
// which lines are taken up does not matter for the times. Without changes the times are those of the run, to
// the nanosecond. Where all lines that are left wait for each other, the earliest call of the run goes on
// without what it waits for. Cost: a queue operation per wait; memory: 16 bytes per call beside the steps.
#include "waits/replay/replay.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace culprit::waits {

using measurement::trace::OperationKind;

namespace {

constexpr std::uint64_t kUnknown = CollectiveRecord::kNever;

class Replay {
 public:
  Replay(const ReplaySteps& steps, Matched& matched, std::span<const storage::Sequence<std::int64_t>> less)
      : steps_(steps), store_(matched.store), all_(*matched.dependencies), less_(less) {
    instances_.resize(all_.instances().size());
    for (std::size_t i = 0; i < steps.lines.size(); ++i) {
      const Location location = steps.lines[i].location;
      lines_.emplace_back(store_.spill());
      if (location >= index_.size()) index_.resize(location + 1, kNone);
      index_[location] = static_cast<std::uint32_t>(i);
    }
  }

  Replayed run(std::vector<std::vector<ReplayedCall>>* calls) {
    for (std::uint32_t i = 0; i < lines_.size(); ++i) ready_.push_back(i);
    while (true) {
      while (!ready_.empty()) {
        const std::uint32_t line = ready_.back();
        ready_.pop_back();
        advance(line);
      }
      if (!force_one()) break;
    }
    for (const Line& line : lines_) result_.run_ns = std::max(result_.run_ns, line.left_ns);
    result_.run_ns -= std::min(result_.run_ns, steps_.begin_ns);
    for (const auto& [key, ns] : sums_)
      result_.waits.push_back({.pattern = key.first, .context = key.second, .ns = ns});
    if (calls != nullptr) give(*calls);
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// A line that waits until call `index` of another one is known.
  struct Waiter {
    std::uint32_t index = 0, line = 0;
    friend bool operator>(const Waiter& a, const Waiter& b) {
      return std::tuple(a.index, a.line) > std::tuple(b.index, b.line);
    }
  };
  using Waiters = std::priority_queue<Waiter, std::vector<Waiter>, std::greater<>>;

  struct Line {
    explicit Line(storage::Spill& spill) : calls(spill) {}
    storage::Sequence<ReplayedCall> calls;  // that were entered
    std::uint32_t next = 0;                 // call
    std::size_t joined = 0;                 // of its parts in collectives
    std::uint64_t left_ns = 0;              // the call before
    // Of the call that was entered:
    Step step;
    bool inside = false;
    std::uint32_t need = 0;  // the next
    std::uint32_t needs_end = 0;
    std::uint64_t free_ns = 0;      // when what it needs had come, so far
    std::uint64_t progress_ns = 0;  // when its partner came back into MPI
    WaitPattern pattern = WaitPattern::none;
    bool waits = false;  // for another line
    Waiters for_enter, for_exit;
  };
  struct Instance {
    std::uint32_t joined = 0;
    std::uint64_t latest_ns = 0, root_ns = kUnknown;
    std::vector<std::uint64_t> enters;   // of a prefix reduction, by rank
    std::vector<std::uint32_t> waiting;  // lines
  };

  /// As far as the line gets.
  void advance(std::uint32_t at) {
    Line& line = lines_[at];
    const StepLine& own = steps_.lines[at];
    while (line.next < own.steps.size()) {
      if (!line.inside && !enter(at)) return;
      for (; line.need < line.needs_end; ++line.need) {
        const Dependency need = own.needs[line.need];
        const std::uint64_t ns = when(at, need);
        if (ns == kUnknown) return wait_for(at, need);
        count(line, need, ns);
      }
      leave(at);
    }
  }

  bool enter(std::uint32_t at) {
    Line& line = lines_[at];
    const StepLine& own = steps_.lines[at];
    line.step = own.steps[line.next];
    const Step& step = line.step;
    std::uint64_t enter_ns = step.enter_ns;
    if (line.next == 0) {
      if (own.anchor.known() && !forced_) {
        const std::uint64_t begun = exit_of(own.anchor);
        if (begun == kUnknown) {
          const std::uint32_t other = index_[own.anchor.location];
          lines_[other].for_exit.push({own.anchor.index, at});
          line.waits = true;
          return false;
        }
        enter_ns = begun + own.lag_ns;
      }
    } else if (!step.fixed) {
      std::int64_t gap = step.gap_ns;
      if (!less_.empty() && gap > 0) gap = std::max<std::int64_t>(gap - less_[at][line.next], 0);
      enter_ns = line.left_ns + static_cast<std::uint64_t>(gap);
    }
    line.calls.push_back({.enter_ns = enter_ns, .exit_ns = kUnknown});
    line.inside = true;
    line.need = step.needs;
    line.needs_end = line.next + 1 < own.steps.size() ? own.steps[line.next + 1].needs
                                                      : static_cast<std::uint32_t>(own.needs.size());
    line.free_ns = line.progress_ns = 0;
    line.pattern = WaitPattern::none;
    join(at, enter_ns);
    wake(line.for_enter, line.next);
    return true;
  }

  /// The collective instances that the call takes part in.
  void join(std::uint32_t at, std::uint64_t enter_ns) {
    Line& line = lines_[at];
    const storage::Sequence<Joined>& joins = all_.line(steps_.lines[at].location).joined;
    for (; line.joined < joins.size() && joins[line.joined].event <= line.next; ++line.joined) {
      const Joined part = joins[line.joined];
      Instance& instance = instances_[part.instance];
      ++instance.joined;
      if (!part.bystander) instance.latest_ns = std::max(instance.latest_ns, enter_ns);
      if (part.root) instance.root_ns = enter_ns;
      const CollectiveRecord& record = all_.instances()[part.instance];
      if (record.kind == OperationKind::prefix && record.whole()) {
        const std::size_t size = all_.enters(part.instance).size();
        if (instance.enters.empty()) instance.enters.resize(size, kUnknown);
        if (static_cast<std::size_t>(part.rank) < size)
          instance.enters[static_cast<std::size_t>(part.rank)] = enter_ns;
      }
      const bool may_go_on = instance.joined == record.expected || part.root || !instance.enters.empty();
      if (!may_go_on) continue;
      for (const std::uint32_t waiter : std::exchange(instance.waiting, {})) take_up(waiter);
    }
  }

  void leave(std::uint32_t at) {
    Line& line = lines_[at];
    ReplayedCall call = line.calls.back();
    const std::uint64_t free_ns = std::max(call.enter_ns, line.free_ns);
    call.exit_ns = std::max(std::max(free_ns, line.progress_ns) + line.step.own_ns, line.left_ns);
    if (free_ns > call.enter_ns && call.exit_ns > free_ns) {
      sums_[{line.pattern, line.step.context}] += free_ns - call.enter_ns;
      result_.waiting_ns += free_ns - call.enter_ns;
    }
    line.calls.set(line.calls.size() - 1, call);
    line.left_ns = call.exit_ns;
    line.inside = false;
    wake(line.for_exit, line.next);
    ++line.next;
  }

  /// One of the call's needs came then.
  static void count(Line& line, const Dependency& need, std::uint64_t ns) {
    if (need.on_progress()) {
      line.progress_ns = std::max(line.progress_ns, ns);
      return;
    }
    const bool first = line.pattern == WaitPattern::none;
    const bool decides = first || (line.step.any ? ns < line.free_ns : ns > line.free_ns);
    if (!decides) return;
    line.free_ns = ns;
    line.pattern = need.pattern;
  }

  [[nodiscard]] std::uint64_t when(std::uint32_t at, const Dependency& need) const {
    if (need.on == Dependency::On::exit) return exit_of(need.cause);
    if (need.on == Dependency::On::enter) {
      const Line& other = lines_[index_[need.cause.location]];
      return need.cause.index < other.calls.size() ? other.calls[need.cause.index].enter_ns : kUnknown;
    }
    const Instance& instance = instances_[need.cause.index];
    const CollectiveRecord& record = all_.instances()[need.cause.index];
    if (record.kind == OperationKind::one_to_all) return instance.root_ns;
    if (record.kind == OperationKind::prefix) return latest_below(at, need, instance);
    return instance.joined == record.expected ? instance.latest_ns : kUnknown;
  }

  /// In a prefix reduction; kUnknown: one of them has not come.
  [[nodiscard]] std::uint64_t latest_below(std::uint32_t at, const Dependency& need,
                                           const Instance& instance) const {
    const storage::Sequence<Joined>& joins = all_.line(steps_.lines[at].location).joined;
    std::int32_t rank = 0;
    for (std::size_t i = lines_[at].joined; i > 0; --i) {
      const Joined part = joins[i - 1];
      if (part.instance != need.cause.index) continue;
      rank = part.rank;
      break;
    }
    std::uint64_t latest = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank) && i < instance.enters.size(); ++i) {
      if (instance.enters[i] == kUnknown) return kUnknown;
      latest = std::max(latest, instance.enters[i]);
    }
    return latest;
  }

  [[nodiscard]] std::uint64_t exit_of(EventId call) const {
    const Line& other = lines_[index_[call.location]];
    return call.index < other.calls.size() ? other.calls[call.index].exit_ns : kUnknown;
  }

  void wait_for(std::uint32_t at, const Dependency& need) {
    lines_[at].waits = true;
    if (need.on == Dependency::On::instance) {
      instances_[need.cause.index].waiting.push_back(at);
      return;
    }
    Line& other = lines_[index_[need.cause.location]];
    (need.on == Dependency::On::exit ? other.for_exit : other.for_enter).push({need.cause.index, at});
  }

  void wake(Waiters& waiters, std::uint32_t index) {
    while (!waiters.empty() && waiters.top().index <= index) {
      take_up(waiters.top().line);
      waiters.pop();
    }
  }

  void take_up(std::uint32_t at) {
    if (!std::exchange(lines_[at].waits, false)) return;
    ready_.push_back(at);
  }

  /// All lines that are left wait for each other: the earliest goes on. False: none is left.
  bool force_one() {
    std::uint32_t first = kNone;
    std::uint64_t first_ns = kUnknown;
    for (std::uint32_t i = 0; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      if (line.next >= steps_.lines[i].steps.size()) continue;
      const std::uint64_t ns = steps_.lines[i].steps[line.next].enter_ns;
      if (first != kNone && ns >= first_ns) continue;
      first = i;
      first_ns = ns;
    }
    if (first == kNone) return false;
    ++result_.contradictions;
    Line& line = lines_[first];
    line.waits = false;
    if (line.inside) {
      ++line.need;
    } else {
      forced_ = true;
      enter(first);
      forced_ = false;
    }
    ready_.push_back(first);
    return true;
  }

  void give(std::vector<std::vector<ReplayedCall>>& calls) const {
    calls.clear();
    for (const Line& line : lines_) {
      std::vector<ReplayedCall>& given = calls.emplace_back();
      line.calls.for_each([&given](const ReplayedCall& call) { given.push_back(call); });
    }
  }

  const ReplaySteps& steps_;
  TraceStore& store_;
  Dependencies& all_;
  std::span<const storage::Sequence<std::int64_t>> less_;
  std::vector<std::uint32_t> index_;  // of lines, by location
  std::vector<Line> lines_;
  std::vector<Instance> instances_;
  std::vector<std::uint32_t> ready_;
  std::map<std::pair<WaitPattern, std::uint32_t>, std::uint64_t> sums_;
  bool forced_ = false;
  Replayed result_;
};

}  // namespace

Replayed replay(const ReplaySteps& steps, Matched& matched,
                std::span<const storage::Sequence<std::int64_t>> less,
                std::vector<std::vector<ReplayedCall>>* calls) {
  return Replay(steps, matched, less).run(calls);
}

}  // namespace culprit::waits
