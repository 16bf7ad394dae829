#include "waits/critical_path.hpp"

#include "waits/letter.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace culprit::waits {

namespace {

/// Where the walk is: on this time line, before `call`, at this time; and all that came before.
struct Position {
  EventId call;
  std::uint64_t ns = 0;
  bool at_exit = false;  ///< the call itself lies before, too
  bool ended = false;
};

class Walk {
 public:
  Walk(exchange::Communicator& analysis, const Roster& roster, const Forward& forward)
      : analysis_(analysis), roster_(roster) {
    for (const TimeLine& line : forward.ledger.lines()) lines_[line.location].line = &line;
  }

  CriticalPath run() {
    Position at = start();
    result_.last = at.call;
    result_.end_ns = result_.begin_ns = at.ns;
    while (at.call.known() && !at.ended) {
      const int holder = roster_.owner_of(roster_.rank_of(at.call.location));
      if (holder == analysis_.rank()) at = along(at);
      exchange::Bytes bytes = bytes_of(std::span<const Position>(&at, 1));
      analysis_.broadcast(bytes, holder);
      at = items_of<Position>(bytes).front();
      result_.begin_ns = at.ns;
    }
    collect();
    return std::move(result_);
  }

 private:
  struct Line {
    const TimeLine* line = nullptr;
    std::uint32_t passed = ~std::uint32_t{0};  // where the walk was last
  };
  struct Stretch {
    std::uint64_t ns = 0;
    std::map<std::uint32_t, std::uint64_t> sampled;
  };

  /// The last enter of MPI_Finalize; where there is none the last exit of all.
  Position start() {
    Position own;
    bool finalized = false;
    for (const auto& [location, line] : lines_) {
      const Sequence<Event>& events = line.line->events;
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
    const int holder = roster_.owner_of(roster_.rank_of(location));
    exchange::Bytes bytes = bytes_of(std::span<const Position>(&own, 1));
    analysis_.broadcast(bytes, holder);
    return items_of<Position>(bytes).front();
  }

  /// Goes back on one time line, up to the first wait whose cause lies on another rank's, or to the
  /// beginning.
  Position along(Position at) {
    for (;;) {
      const auto found = lines_.find(at.call.location);
      if (found == lines_.end()) return at;
      Line& own = found->second;
      // Contradictory clocks could lead it around for ever.
      if (at.call.index > own.passed) break;
      own.passed = at.call.index;
      const Sequence<Event>& events = own.line->events;
      if (!at.at_exit) {
        if (at.call.index == 0 || events[at.call.index].initialize) break;
        add_gap(*own.line, at);
        --at.call.index;
        at.ns = std::min(at.ns, events[at.call.index].exit_ns);
        if (events[at.call.index].initialize) break;
      }
      at = through_call(own, at);
    }
    at.ended = true;
    return at;
  }

  /// From the exit of a call to its enter, or to what it waited for.
  Position through_call(const Line& own, Position at) {
    const Event event = own.line->events[at.call.index];
    const bool waited = event.wait != 0;
    const Wait wait = waited ? own.line->waits[event.waits] : Wait{};
    const std::uint64_t until = waited ? std::min(at.ns, wait.until_ns) : event.enter_ns;
    Stretch& stretch = stretches_[{at.call.location, Piece{event.context, Piece::kCall}}];
    stretch.ns += at.ns - std::min(at.ns, until);
    at.ns = std::min(at.ns, until);
    at.at_exit = false;
    if (!waited) return at;
    // An early fence waits for an operation's end, all others for a call's beginning.
    return {.call = wait.cause, .ns = at.ns, .at_exit = wait.cause_ends, .ended = false};
  }

  void add_gap(const TimeLine& line, const Position& at) {
    const Event before = line.events[at.call.index - 1];
    const Event after = line.events[at.call.index];
    Stretch& stretch = stretches_[{at.call.location, Piece{before.context, after.context}}];
    stretch.ns += at.ns - std::min(at.ns, before.exit_ns);
    if (!after.sampled) return;
    for_samples(line, at.call.index,
                [&stretch](const Sample& sample) { stretch.sampled[sample.context] += sample.ns; });
  }

  void collect() {
    std::uint64_t calls_ns = 0;
    for (const auto& [key, stretch] : stretches_) {
      if (stretch.ns == 0) continue;
      if (key.second.next == Piece::kCall) calls_ns += stretch.ns;
      for (const PathShare& part : divide_over_paths(key.second, stretch.sampled, {stretch.ns})) {
        result_.times.push_back({key.first, part.path, part.amounts[0]});
      }
    }
    std::sort(result_.times.begin(), result_.times.end());
    result_.calls_ns = analysis_.all_sum(calls_ns);
  }

  exchange::Communicator& analysis_;
  const Roster& roster_;
  CriticalPath result_;
  std::map<Location, Line> lines_;
  std::map<std::pair<Location, Piece>, Stretch> stretches_;
};

}  // namespace

CriticalPath critical_path(exchange::Communicator& analysis, const Roster& roster, const Forward& forward) {
  return Walk(analysis, roster, forward).run();
}

}  // namespace culprit::waits
