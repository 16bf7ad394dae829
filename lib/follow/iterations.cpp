#include "follow/iterations.hpp"

#include <algorithm>
#include <utility>

namespace culprit::follow {
namespace {

constexpr double kWindow = 60;  // seconds
constexpr double kMinute = 60;
constexpr std::size_t kFewestLooks = 3;
constexpr std::uint64_t kFewestCalls = 3;

}  // namespace

void Iterations::look(double time_s, std::uint64_t marked, std::span<const CountedCalls> calls) {
  Look look{.time_s = time_s, .marked = marked, .calls = {}};
  for (const CountedCalls& each : calls) {
    look.calls[each.spot] += each.calls;
    const auto [depth, fresh] = depth_.try_emplace(each.spot, each.depth);
    if (!fresh) depth->second = std::min(depth->second, each.depth);
  }
  looks_.push_back(std::move(look));
  while (looks_.size() > kFewestLooks && time_s - looks_.front().time_s > kWindow) looks_.pop_front();
}

std::optional<IterationRate> Iterations::rate() const {
  if (looks_.size() < 2) return std::nullopt;
  const Look& first = looks_.front();
  const Look& last = looks_.back();
  const double span = last.time_s - first.time_s;
  if (span <= 0) return std::nullopt;
  if (last.marked > first.marked)
    return IterationRate{.per_minute = static_cast<double>(last.marked - first.marked) / span * kMinute};
  if (last.marked > 0 || looks_.size() < kFewestLooks) return std::nullopt;
  const Look& middle = looks_[looks_.size() / 2];
  const auto calls_at = [](const Look& look, std::uint32_t spot) {
    const auto found = look.calls.find(spot);
    return found == look.calls.end() ? 0 : found->second;
  };
  std::optional<std::pair<std::uint32_t, std::uint64_t>> best;  // spot and calls
  for (const auto& [spot, calls] : last.calls) {
    const std::uint64_t before = calls_at(first, spot), half = calls_at(middle, spot);
    if (half <= before || calls <= half || calls - before < kFewestCalls) continue;
    const std::uint64_t made = calls - before;
    const bool better = !best || depth_.at(spot) < depth_.at(best->first) ||
                        (depth_.at(spot) == depth_.at(best->first) && made > best->second);
    if (better) best = {spot, made};
  }
  if (!best) return std::nullopt;
  return IterationRate{.per_minute = static_cast<double>(best->second) / span * kMinute,
                       .inferred = true,
                       .spot = best->first};
}

}  // namespace culprit::follow
