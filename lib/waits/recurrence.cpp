#include "waits/recurrence.hpp"

#include "waits/hash.hpp"

#include <algorithm>
#include <limits>

namespace culprit::waits {

namespace {

constexpr std::uint32_t kNone = CallPaths::kNone;
constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();
/// Of the time from the first invocation to the end of the last: what one alone may have.
constexpr double kMostOfOne = 0.75;

}  // namespace

Returns::Returns(const CallPaths& paths)
    : paths_(paths), depth_(paths.parent.size(), 0), came_back_(paths.parent.size(), 0) {
  for (std::size_t i = 0; i < depth_.size(); ++i) {
    if (paths.parent[i] != kNone) depth_[i] = depth_[paths.parent[i]] + 1;
  }
}

/// Of a call that follows itself, the scope that makes it.
std::uint32_t Returns::innermost_around(std::uint32_t a, std::uint32_t b) {
  if (a == b) return paths_.parent[a];
  const std::uint64_t key = joined(a, b);
  Around& seen = seen_[hash_of(key) % kSeen];
  if (seen.key == key) return seen.scope;
  const auto [known, is_new] = around_.try_emplace(key, kNone);
  if (is_new) {
    while (a != b && a != kNone && b != kNone) {
      std::uint32_t& inner = a > b ? a : b;  // parents come before their children
      inner = paths_.parent[inner];
    }
    known->second = a == b ? a : kNone;
  }
  seen = {key, known->second};
  return known->second;
}

std::uint64_t Returns::call(std::uint32_t context) {
  ++calls_;
  if (previous_ != kNone) {
    const std::uint32_t scope = innermost_around(previous_, context);
    if (scope != kNone) came_back_[scope] = calls_;
  }
  previous_ = context;
  return calls_;
}

std::uint32_t Returns::outermost_since(std::uint64_t since, std::uint32_t context) const {
  std::uint32_t outermost = depth_[context];
  for (std::uint32_t scope = paths_.parent[context]; scope != kNone; scope = paths_.parent[scope]) {
    if (came_back_[scope] > since) outermost = depth_[scope];
  }
  return outermost;
}

void Recurrences::Level::begins(std::uint64_t ns) {
  if (count++ == 0)
    first_ns = ns;
  else
    longest_ns = std::max(longest_ns, ns - last_ns);
  last_ns = ns;
}

bool Recurrences::Level::uneven(std::uint64_t end_ns) const {
  const std::uint64_t longest = std::max(longest_ns, end_ns - std::min(end_ns, last_ns));
  return static_cast<double>(longest) > kMostOfOne * static_cast<double>(end_ns - first_ns);
}

void Recurrences::begins(std::uint64_t ns, std::uint32_t depth) {
  if (levels_.empty()) {
    levels_.push_back({.depth = kAny});
    levels_.back().begins(ns);
    return;
  }
  auto at =
      std::find_if(levels_.begin(), levels_.end(), [&](const Level& level) { return level.depth >= depth; });
  if (at->depth != depth) {
    // What lies farther in has begun anew wherever what lies farther out has.
    Level level{.depth = depth};
    if (at == levels_.begin()) {
      level.begins(at->first_ns);
    } else {
      level = *std::prev(at);
      level.depth = depth;
    }
    at = levels_.insert(at, level);
  }
  std::for_each(at, levels_.end(), [&](Level& level) { level.begins(ns); });
}

const Recurrences::Level& Recurrences::level() const {
  static const Level none;
  if (levels_.empty()) return none;
  const auto divides = [&](const Level& level) { return level.count >= 2 && !level.uneven(end_ns_); };
  const auto found = std::find_if(levels_.begin(), levels_.end(), divides);
  return found == levels_.end() ? levels_.back() : *found;
}

}  // namespace culprit::waits
