// When a procedure is invoked anew, as a sampler sees it (docs/algorithms.md 9): its first MPI call path
// recurs. Between two such calls control came back to some scope around them; the innermost scope that holds
// both follows from the call paths, and is remembered per gap. Per path the recurrences are kept by the depth
// that control came back to. A procedure takes its outermost scope that recurs at least once and divides the
// time: no invocation has more than three quarters of it. Cost: constant per call, and a few levels per path.
#include "waits/variation/recurrence.hpp"

#include <algorithm>
#include <cstddef>

namespace culprit::waits {

namespace {

/// Of the time from the first invocation to the end of the last: what one alone may have.
constexpr double kMostOfOne = 0.75;

}  // namespace

Returns::Returns(const CallPaths& paths, const Regions& regions)
    : paths_(paths), regions_(regions), depth_(paths.parent.size(), 0), depth_of_gap_(regions.size(), kAsk) {
  for (std::size_t i = 0; i < depth_.size(); ++i) {
    if (paths.parent[i] != CallPaths::kNone) depth_[i] = depth_[paths.parent[i]] + 1;
    nothing_ = std::max(nothing_, depth_[i] + 1);
  }
}

/// The depth of the innermost scope around both; of a call that follows itself, of the scope that makes it.
std::uint32_t Returns::around(std::uint32_t a, std::uint32_t b) const {
  if (a == b) return paths_.parent[a] == CallPaths::kNone ? nothing_ : depth_[a] - 1;
  while (a != b && a != CallPaths::kNone && b != CallPaths::kNone) {
    std::uint32_t& inner = a > b ? a : b;  // parents come before their children
    inner = paths_.parent[inner];
  }
  return a == b ? depth_[a] : nothing_;
}

/// Calls at contexts that `paths` does not have are passed over: behind them, the gap does not say which
/// call was the one before.
std::uint32_t Returns::ask(const Event& event) {
  const std::uint32_t previous = regions_[event.gap].previous;
  const bool known = previous < depth_.size();
  if (!known && previous_ == CallPaths::kNone) return nothing_;
  const std::uint32_t depth = around(known ? previous : previous_, event.context);
  if (known) depth_of_gap_[event.gap] = depth;
  return depth;
}

bool is_most(std::uint64_t longest_ns, std::uint64_t all_ns) {
  return static_cast<double>(longest_ns) > kMostOfOne * static_cast<double>(all_ns);
}

bool Recurrences::Level::uneven(std::uint64_t end_ns) const {
  const std::uint64_t longest = std::max(longest_ns, end_ns - std::min(end_ns, last_ns));
  return is_most(longest, end_ns - first_ns);
}

/// A level that does not begin anew for the first time: until now, it did wherever the next one outside did.
void Recurrences::insert(std::size_t at, std::uint64_t ns, std::uint32_t depth) {
  const bool first = levels_.empty();
  Level level = first ? Level{} : levels_[at - 1];
  if (!first) level.depth = depth;
  level.begins(ns);
  levels_.insert(levels_.begin() + static_cast<std::ptrdiff_t>(at), level);
}

Recurrences::Level Recurrences::level(std::uint32_t depth, std::uint64_t end_ns) const {
  if (levels_.empty()) return {};
  auto first = levels_.begin();
  while (first + 1 != levels_.end() && (first + 1)->depth <= depth) ++first;
  const auto divides = [&](const Level& level) { return level.divides(end_ns); };
  const auto found = std::find_if(first, levels_.end(), divides);
  return found == levels_.end() ? levels_.back() : *found;
}

std::uint64_t Recurrences::count_at(std::uint32_t depth) const {
  std::uint64_t count = 0;
  for (const Level& level : levels_) {
    if (level.depth <= depth) count = level.count;
  }
  return count;
}

}  // namespace culprit::waits
