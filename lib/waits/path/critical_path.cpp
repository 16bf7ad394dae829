// The critical path of a run (Böhme 2012; docs/algorithms.md 8.1): from the last enter of MPI_Finalize
// backwards along its time line; at a call that waited, back to the end of the wait and over to the call that
// caused it; until the end of MPI_Init. Time in calls and gaps on the way is charged to them; a gap's time is
// divided over its sampled call paths.
// The rank of the analysis that has the time line walks on, and broadcasts where it came to and which waits
// come next on that line: when the path comes back there, all ranks know the way, and each walks its own
// lines (known_waits.cpp). Without these waits the whole analysis takes 7 times as much CPU time where two
// ranks take turns (`bench_waits master 2 4000000 2`; 2026-11-30, busy).
// Clocks that contradict each other cannot make it go around: no line is walked forwards.
// Cost: one step per call on the path; 13 ns per event with 16 ranks, less with more (docs/figures.md).
#include "waits/path/critical_path.hpp"

#include "exchange/message_exchange.hpp"
#include "waits/path/known_waits.hpp"
#include "waits/path/thread_changes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace culprit::waits {

namespace {

using Position = PathPosition;

class Walk {
 public:
  Walk(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched)
      : analysis_(analysis),
        rank_map_(rank_map),
        threads_(analysis, rank_map, matched.store),
        known_(rank_map.locations(), analysis.size() > 1 && !threads_.possible()),
        passed_(rank_map.locations(), ~std::uint32_t{0}),
        changed_ns_(rank_map.ranks(), ~std::uint64_t{0}) {
    for (const TimeLine& line : matched.store.lines()) lines_[line.location] = &line;
  }

  CriticalPath run() {
    Position at = start();
    result_.last = at.call;
    result_.end_ns = result_.begin_ns = at.ns;
    while (at.call.known() && !at.ended) at = hand_over(follow(at));
    result_.begin_ns = at.ns;
    collect();
    return std::move(result_);
  }

 private:
  struct Stretch {
    std::uint64_t ns = 0;
    std::map<std::uint32_t, std::uint64_t> sampled;
  };

  /// The last enter of MPI_Finalize; where there is none the last exit of all.
  Position start() {
    Position own;
    bool finalized = false;
    for (const auto& [location, line] : lines_) {
      const storage::Sequence<Event>& events = line->events;
      if (events.empty()) continue;
      const auto index = static_cast<std::uint32_t>(events.size() - 1);
      const bool finalizes = events.back().finalize;
      const std::uint64_t ns = finalizes ? events.back().enter_ns : events.back().exit_ns;
      if (std::tuple(finalizes, ns) <= std::tuple(finalized, own.ns)) continue;
      finalized = finalizes;
      own = {.call = {location, index}, .ns = ns, .at_exit = !finalizes, .ended = false};
    }
    const bool any = analysis_.all_max(finalized ? 1 : 0) != 0;
    if (any && !finalized) own = {};
    const std::uint64_t latest = analysis_.all_max(own.ns);
    const std::uint64_t candidate =
        own.call.known() && own.ns == latest ? kNoLocation - own.call.location : 0;
    const std::uint64_t chosen = analysis_.all_max(candidate);
    const auto location = static_cast<Location>(kNoLocation - chosen);
    if (chosen == 0) return {};
    const int holder = rank_map_.owner_of(rank_map_.rank_of(location));
    exchange::Bytes bytes = exchange::bytes_of(std::span<const Position>(&own, 1));
    analysis_.broadcast(bytes, holder);
    return exchange::items_of<Position>(bytes).front();
  }

  /// Over to causes as long as all ranks of the analysis know the way; all of them do the same.
  Position follow(Position at) {
    for (;;) {
      const Location location = at.call.location;
      // Each step of a line ends before the one before: contradictory clocks could lead around for ever.
      if (at.call.index + (at.at_exit ? 1 : 0) > passed_[location]) return at;
      const std::optional<PathStep> step = known_.after(at);
      if (!step) return at;
      if (rank_map_.holder_of(location) == analysis_.rank()) along(at);
      passed_[location] = step->left;
      at = step->to;
    }
  }

  /// The rank of the analysis that has the line walks on, and broadcasts where it came to.
  Position hand_over(const Position& at) {
    const Location location = at.call.location;
    const int holder = rank_map_.holder_of(location);
    std::vector<PathStep> steps;
    if (holder == analysis_.rank()) {
      const Position to = along(at);
      steps.push_back({.to = to, .left = passed_[location]});
      if (known_.sent() && !to.ended) known_.append(*lines_[location], steps);
    }
    exchange::Bytes bytes = exchange::bytes_of(std::span<const PathStep>(steps));
    analysis_.broadcast(bytes, holder);
    steps = exchange::items_of<PathStep>(bytes);
    known_.keep(location, std::span(steps).subspan(1));
    passed_[location] = steps.front().left;
    return steps.front().to;
  }

  /// Goes back on one time line, up to the first wait; or, where it is handed over at each wait, on through
  /// waits whose causes lie on lines of this rank of the analysis, and to other threads; or to the beginning.
  Position along(Position at) {
    for (;;) {
      const Location location = at.call.location;
      const auto found = lines_.find(location);
      if (found == lines_.end()) return at;
      const TimeLine& own = *found->second;
      // Contradictory clocks could lead it around for ever.
      if (at.call.index > passed_[location]) break;
      passed_[location] = at.call.index;
      const storage::Sequence<Event>& events = own.events;
      if (!at.at_exit) {
        if (events[at.call.index].initialize) break;
        if (const std::optional<Position> other = change_thread(own, at)) {
          at = *other;
          continue;
        }
        if (at.call.index == 0) break;
        add_gap(own, at, events[at.call.index - 1].exit_ns);
        --at.call.index;
        at.ns = std::min(at.ns, events[at.call.index].exit_ns);
        if (events[at.call.index].initialize) break;
      }
      passed_[location] = at.call.index;
      const bool waited = events[at.call.index].wait != 0;
      at = through_call(own, at);
      if (waited && known_.sent()) return at;
    }
    at.ended = true;
    return at;
  }

  /// From the exit of a call to its enter, or to what it waited for.
  Position through_call(const TimeLine& line, Position at) {
    const Event event = line.events[at.call.index];
    const bool waited = event.wait != 0;
    const Wait wait = waited ? line.waits[event.waits] : Wait{};
    const std::uint64_t until = waited ? std::min(at.ns, wait.until_ns) : event.enter_ns;
    Stretch& stretch = stretches_[{at.call.location, Region{event.context, Region::kCall}}];
    stretch.ns += at.ns - std::min(at.ns, until);
    visit(at.call.location, std::min(at.ns, until), at.ns);
    at.ns = std::min(at.ns, until);
    at.at_exit = false;
    if (!waited) return at;
    // An early fence waits for an operation's end, all others for a call's beginning.
    return {.call = wait.cause, .ns = at.ns, .at_exit = wait.cause_ends, .ended = false};
  }

  /// To the thread of the process that this one waited for in the gap, if any.
  std::optional<Position> change_thread(const TimeLine& line, const Position& at) {
    const std::optional<Position> other = threads_.before(at);
    if (!other || other->call.index > passed_[other->call.location]) return std::nullopt;
    // Threads that seem to wait for each other at one moment could lead it around for ever.
    std::uint64_t& changed_ns = changed_ns_[static_cast<std::size_t>(rank_map_.rank_of(line.location))];
    if (other->ns >= changed_ns) return std::nullopt;
    changed_ns = other->ns;
    if (other->ns < at.ns) add_gap(line, at, other->ns);
    return other;
  }

  /// What of the gap before `at.call` lies between `since_ns` and `at`.
  void add_gap(const TimeLine& line, const Position& at, std::uint64_t since_ns) {
    const Event after = line.events[at.call.index];
    const std::uint32_t before = at.call.index > 0 ? line.events[at.call.index - 1].context : Region::kStart;
    Stretch& stretch = stretches_[{at.call.location, Region{before, after.context}}];
    stretch.ns += at.ns - std::min(at.ns, since_ns);
    visit(at.call.location, std::min(at.ns, since_ns), at.ns);
    if (!after.sampled) return;
    for_samples(line, at.call.index,
                [&stretch](const Sample& sample) { stretch.sampled[sample.charged] += sample.ns; });
  }

  void visit(Location location, std::uint64_t begin_ns, std::uint64_t end_ns) {
    std::vector<CriticalVisit>& visits = result_.visits;
    if (!visits.empty() && visits.back().location == location && visits.back().begin_ns == end_ns) {
      visits.back().begin_ns = begin_ns;
    } else if (begin_ns < end_ns) {
      visits.push_back({.location = location, .begin_ns = begin_ns, .end_ns = end_ns});
    }
  }

  void collect() {
    std::uint64_t calls_ns = 0;
    for (const auto& [key, stretch] : stretches_) {
      if (stretch.ns == 0) continue;
      if (key.second.next == Region::kCall) calls_ns += stretch.ns;
      for (const PathShare& part : divide_over_paths(key.second, stretch.sampled, {stretch.ns})) {
        result_.times.push_back({key.first, part.path, part.amounts[0]});
      }
    }
    std::sort(result_.times.begin(), result_.times.end());
    result_.calls_ns = analysis_.all_sum(calls_ns);
  }

  exchange::Communicator& analysis_;
  const RankMap& rank_map_;
  CriticalPath result_;
  ThreadChanges threads_;
  KnownWaits known_;
  std::map<Location, const TimeLine*> lines_;
  std::vector<std::uint32_t> passed_;      // by location: where the walk was last
  std::vector<std::uint64_t> changed_ns_;  // by rank in MPI_COMM_WORLD: when it last changed threads there
  std::map<std::pair<Location, Region>, Stretch> stretches_;
};

}  // namespace

CriticalPath critical_path(exchange::Communicator& analysis, const RankMap& rank_map,
                           const Matched& matched) {
  return Walk(analysis, rank_map, matched).run();
}

}  // namespace culprit::waits
