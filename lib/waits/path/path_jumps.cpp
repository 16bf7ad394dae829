// Spares the critical path most of its messages (docs/algorithms.md 8.1): all time lines' waits of a window
// of time (some 8000) are brought to all ranks of the analysis, so each finds the next jumps by itself and
// walks only its own lines. Both ways stay: handing each jump over, the whole analysis takes 3.0 times as
// much CPU time where two ranks take turns (`bench_waits master 2 4000000 2`), and bringing all waits 1.8
// times with 1 024 time lines (`bench_waits ring 1024 5000000 32`; 2026-11-28). The window goes backwards
// with the path and adapts its length. Where a later call of the line was entered before a wait ended, only
// the rank that has the line knows the way: such waits are left out. Worth it for more than one rank of the
// analysis and at most 80 time lines.
#include "waits/path/path_jumps.hpp"

#include "exchange/message_exchange.hpp"

#include <algorithm>
#include <utility>

namespace culprit::waits {

PathJumps::PathJumps(exchange::Communicator& analysis, const RankMap& rank_map, const Matched& matched,
                     bool change_threads)
    : analysis_(analysis),
      worth_it_(analysis.size() > 1 && rank_map.locations() <= kMostLines && !change_threads) {
  if (!worth_it_) return;
  lines_.resize(rank_map.locations());
  own_.reserve(matched.store.lines().size());
  for (const TimeLine& line : matched.store.lines()) {
    Own& own = own_.emplace_back(Own{.line = &line, .next = static_cast<std::uint32_t>(line.waits.size())});
    if (line.initialized > 0)
      own.last = line.initialized < line.events.size() ? line.events[line.initialized].waits : own.next;
  }
}

PathJumps::Sent PathJumps::without_cause(Location location, std::uint32_t event) {
  Sent sent;
  sent.location = location;
  sent.jump.event = event;
  return sent;
}

/// Of this rank's lines, backwards on each.
void PathJumps::take(std::uint64_t since_ns, std::uint64_t until_ns) {
  taken_.clear();
  for (Own& own : own_) {
    const Location location = own.line->location;
    std::optional<std::uint32_t> left_out;
    for (; own.next > own.last; --own.next) {
      const Wait wait = own.line->waits[own.next - 1];
      if (wait.until_ns <= since_ns) break;
      if (!is_whole_wait(wait.pattern)) continue;
      // At one that was overlapped the path may be earlier than its end: only who has the calls knows.
      if (wait.until_ns > until_ns || !wait.cause.known() || wait.overlapped) {
        left_out = wait.event;
        continue;
      }
      if (left_out) taken_.push_back(without_cause(location, *std::exchange(left_out, std::nullopt)));
      taken_.push_back({location, {wait.event, wait.cause_ends, wait.until_ns, wait.cause}});
    }
    if (left_out) taken_.push_back(without_cause(location, *left_out));
  }
}

void PathJumps::forget() {
  for (const Location location : lines_here_) {
    Line& line = lines_[location];
    if (!line.jumps.empty()) line.forgotten = line.jumps.back().event;
    line.jumps.clear();
  }
  lines_here_.clear();
}

void PathJumps::bring(std::uint64_t until_ns) {
  forget();
  take(until_ns > span_ns_ ? until_ns - span_ns_ : 0, until_ns);
  const std::vector<Sent> all = exchange::items_of_all<Sent>(analysis_, taken_);
  for (const Sent& one : all) {
    Line& line = lines_[one.location];
    if (!one.jump.cause.known()) {  // what is later was left out
      line.jumps.clear();
      line.forgotten = one.jump.event;
      continue;
    }
    if (line.jumps.empty()) lines_here_.push_back(one.location);
    line.jumps.push_back(one.jump);
  }
  if (all.size() > kWaits) span_ns_ = std::max<std::uint64_t>(span_ns_ / 2, 1);
  if (all.size() < kWaits / 2 && span_ns_ < std::uint64_t{1} << 60) span_ns_ *= 2;
}

std::optional<PathJump> PathJumps::before(EventId call, bool itself) const {
  const Line& line = lines_[call.location];
  const std::uint32_t end = call.index + (itself ? 1 : 0);
  if (end > line.forgotten) return std::nullopt;
  const auto found =
      std::lower_bound(line.jumps.begin(), line.jumps.end(), end,
                       [](const PathJump& jump, std::uint32_t wanted) { return jump.event >= wanted; });
  if (found == line.jumps.end()) return std::nullopt;
  return *found;
}

}  // namespace culprit::waits
