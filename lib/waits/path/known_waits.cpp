#include "waits/path/known_waits.hpp"

#include <algorithm>

namespace culprit::waits {
namespace {

/// Waits that are known of all time lines together: 2 MB. And of one: with more, the memory that they travel
/// in goes back to the system each time, and comes from it page by page.
constexpr std::size_t kMost = 1 << 16, kMostOfLine = 1 << 11;

}  // namespace

KnownWaits::KnownWaits(Location lines, bool sent)
    : most_(sent ? std::min(kMostOfLine, kMost / std::max<std::size_t>(lines, 1)) : 0), lines_(lines) {}

void KnownWaits::append(const TimeLine& line, std::vector<PathStep>& steps) const {
  // At those that belong to MPI_Init the path ends.
  const std::size_t first =
      line.initialized < line.events.size() ? line.events[line.initialized].waits : line.waits.size();
  std::size_t next = line.events[steps.back().left].waits;
  for (std::size_t count = 0; next > first && count < most_;) {
    const Wait wait = line.waits[--next];
    if (!is_whole_wait(wait.pattern)) continue;
    // At one that was overlapped the path may be earlier than its end: only who has the calls knows.
    if (!wait.cause.known() || wait.overlapped) return;
    steps.push_back(
        {.to = {.call = wait.cause, .ns = wait.until_ns, .at_exit = wait.cause_ends, .ended = false},
         .left = wait.event});
    ++count;
  }
}

void KnownWaits::keep(Location location, std::span<const PathStep> steps) {
  lines_[location].steps.assign(steps.begin(), steps.end());
  lines_[location].next = 0;
}

std::optional<PathStep> KnownWaits::after(const PathPosition& at) {
  Line& line = lines_[at.call.location];
  const std::uint32_t end = at.call.index + (at.at_exit ? 1 : 0);
  while (line.next < line.steps.size() && line.steps[line.next].left >= end) ++line.next;
  if (line.next == line.steps.size()) return std::nullopt;
  PathStep step = line.steps[line.next];
  step.to.ns = std::min(step.to.ns, at.ns);
  return step;
}

}  // namespace culprit::waits
