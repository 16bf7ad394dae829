// The critical path between the threads of a process (docs/algorithms.md 8.1). Records of waits (12.1) say
// when a main thread waited for others, and who held the lock or was joined; of other threads only samples
// say that they waited. Where nobody knows for whom, it is concluded: a thread that left a call of MPI within
// the wait and was not in the next one long before the wait ended. Cost: a binary search for each gap on the
// path, in processes where several threads call MPI.
#include "waits/path/thread_changes.hpp"

#include <algorithm>

namespace culprit::waits {
namespace {

/// How long before a wait ended the thread that ended it may have been in its next call of MPI: what a thread
/// takes to wake up on a busy processor.
constexpr std::uint64_t kWakingNs = 1'000'000;

/// The first call of a time line that was left after `ns`; how many calls it has where there is none.
std::uint32_t first_left_after(const TimeLine& line, std::uint64_t ns) {
  const auto found =
      std::lower_bound(line.events.begin(), line.events.end(), ns,
                       [](const Event& event, std::uint64_t wanted) { return event.exit_ns <= wanted; });
  return static_cast<std::uint32_t>(found - line.events.begin());
}

/// Whether most of what was sampled in the gap before a call found the thread waiting for others.
bool mostly_waits(const TimeLine& line, std::uint32_t call) {
  std::uint64_t waiting_ns = 0, all_ns = 0;
  for_samples(line, call, [&](const Sample& sample) {
    all_ns += sample.ns;
    if (sample.waiting) waiting_ns += sample.ns;
  });
  return waiting_ns > all_ns / 2;
}

}  // namespace

ThreadChanges::ThreadChanges(exchange::Communicator& analysis, const RankMap& rank_map,
                             const TraceStore& store)
    : rank_map_(rank_map), store_(store), lines_(rank_map.ranks()) {
  for (const TimeLine& line : store.lines()) {
    if (line.events.empty()) continue;
    std::vector<Location>& lines = lines_[static_cast<std::size_t>(rank_map.rank_of(line.location))];
    lines.insert(line.initialized > 0 ? lines.begin() : lines.end(), line.location);
    if (lines.size() > 1) possible_ = true;
  }
  possible_ = analysis.all_max(possible_ ? 1 : 0) != 0;
}

std::optional<PathPosition> ThreadChanges::before(const PathPosition& at) const {
  if (!possible_) return std::nullopt;
  const std::vector<Location>& lines = lines_[static_cast<std::size_t>(rank_map_.rank_of(at.call.location))];
  if (lines.size() < 2) return std::nullopt;
  const TimeLine& main = store_.line(lines.front());
  if (main.location == at.call.location) return awaited_by_main(main, at);
  if (at.call.index == 0) return main_before(main, at.ns);
  if (!mostly_waits(store_.line(at.call.location), at.call.index)) return std::nullopt;
  const std::optional<PathPosition> found = main_before(main, at.ns);
  return found && found->ns == at.ns ? found : std::nullopt;
}

/// Backwards over its waits in the gap, up to one that another thread may have ended.
std::optional<PathPosition> ThreadChanges::awaited_by_main(const TimeLine& main,
                                                           const PathPosition& at) const {
  const std::uint64_t gap_ns = at.call.index > 0 ? main.events[at.call.index - 1].exit_ns : 0;
  const storage::Sequence<ThreadWait>& waits = main.thread_waits;
  auto behind =
      std::lower_bound(waits.begin(), waits.end(), at.ns,
                       [](const ThreadWait& one, std::uint64_t wanted) { return one.begin_ns < wanted; });
  while (behind != waits.begin()) {
    const ThreadWait wait = *--behind;
    if (wait.end_ns <= gap_ns) break;
    const std::uint64_t end_ns = std::min(wait.end_ns, at.ns);
    const std::optional<PathPosition> found =
        wait.holder != kNoLocation ? at_release(wait, end_ns) : left_last(main, wait, end_ns);
    if (found) return found;
  }
  return std::nullopt;
}

/// Where its holder ended it. Nothing where that one made no call of MPI around then: what it did is charged
/// to the main thread's gap.
std::optional<PathPosition> ThreadChanges::at_release(const ThreadWait& wait, std::uint64_t ns) const {
  const TimeLine& line = store_.line(wait.holder);
  ns = std::min(ns, wait.released_ns);
  const std::uint32_t next = first_left_after(line, ns);
  PathPosition found;
  if (next < line.events.size()) {
    found = {.call = {wait.holder, next},
             .ns = std::min(ns, line.events[next].enter_ns),
             .at_exit = false,
             .ended = false};
  } else if (next > 0) {
    found = {.call = {wait.holder, next - 1},
             .ns = line.events[next - 1].exit_ns,
             .at_exit = true,
             .ended = false};
  }
  if (!found.call.known() || found.ns <= wait.begin_ns) return std::nullopt;
  return found;
}

/// On the thread that left a call of MPI last before its end, and within it.
std::optional<PathPosition> ThreadChanges::left_last(const TimeLine& main, const ThreadWait& wait,
                                                     std::uint64_t end_ns) const {
  PathPosition found;
  for (const Location location : lines_[static_cast<std::size_t>(rank_map_.rank_of(main.location))]) {
    const TimeLine& line = store_.line(location);
    const std::uint32_t next = first_left_after(line, end_ns);
    if (location == main.location || next == 0) continue;
    const std::uint64_t left_ns = line.events[next - 1].exit_ns;
    const bool went_on = next < line.events.size() && line.events[next].enter_ns + kWakingNs < end_ns;
    if (left_ns <= std::max(wait.begin_ns, found.ns) || went_on) continue;
    found = {.call = {location, next - 1}, .ns = left_ns, .at_exit = true, .ended = false};
  }
  if (!found.call.known()) return std::nullopt;
  return found;
}

/// The latest up to `ns` at which the thread was in no call.
std::optional<PathPosition> ThreadChanges::main_before(const TimeLine& main, std::uint64_t ns) {
  const std::uint32_t next = first_left_after(main, ns);
  if (next == 0 || next == main.events.size()) return std::nullopt;
  return PathPosition{.call = {main.location, next},
                      .ns = std::min(ns, main.events[next].enter_ns),
                      .at_exit = false,
                      .ended = false};
}

}  // namespace culprit::waits
