// Which waiting comes and goes from one iteration to the next, from sums alone (ours;
// docs/algorithms.md 5.8). If threads came to a call with lasting differences only, all would wait for the
// one whose gaps are longest in sum. What idleness is beyond that comes of gaps that vary: of T threads the
// latest is later than the mean by σ · √(T − 1) at most (Samuelson 1968), which it is where one alone is
// late, and by what the longest gap is above the mean. Where that is enough for most of what is unexplained,
// the gap is named; what is left of it explains waiting in other calls, which those make wait who waited
// first. Cost: linear in pairs of calls.
#include "blame/varying_gaps.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace culprit::blame {
namespace {

/// Unexplained waiting is named from these shares on: of the role's idleness, and of that in the call.
constexpr double kWorthNaming = 0.05, kMostly = 0.5;
/// Variation must explain at least this share of what is unexplained; it is an upper bound.
constexpr double kEnough = 0.65;

metrics::Uint128 squares_of(const GapSums& gaps) {
  return metrics::Uint128{gaps.squares_high} << 64 | gaps.squares_low;
}

double deviation(const GapSums& gaps) {
  return gaps.count == 0 ? 0
                         : std::sqrt(static_cast<double>(squares_of(gaps)) / static_cast<double>(gaps.count));
}

/// What waiting gaps of this variation can explain, of all threads, at most. A stall amid a million short
/// gaps makes their deviation large; but nobody waits longer than the others' gaps last.
double by_variation(const GapSums& gaps, std::uint32_t threads) {
  if (threads < 2 || gaps.count == 0) return 0;
  const auto count = static_cast<double>(gaps.count), total = static_cast<double>(gaps.total_ns);
  const double above_mean = std::max(0.0, static_cast<double>(gaps.longest_ns) - total / count);
  const double latest = std::min(deviation(gaps) * std::sqrt(threads - 1.0), above_mean);
  return std::min(latest * count, (threads - 1.0) * total);
}

/// The gaps that end at one call.
struct Ending {
  const GapSums* all = nullptr;
  const GapSums* most_varying = nullptr;
  double by_variation = 0;
};

using Call = std::pair<std::uint32_t, database::ContextId>;  ///< role, context

std::map<Call, Ending> by_call(std::span<const GapSums> gaps) {
  std::map<Call, Ending> calls;
  for (const GapSums& each : gaps) {
    if (each.after == GapSums::kAny) calls[{each.role, each.context}].all = &each;
  }
  for (const GapSums& each : gaps) {
    Ending& ending = calls[{each.role, each.context}];
    if (each.after == GapSums::kAny || ending.all == nullptr) continue;
    const double explained = by_variation(each, ending.all->threads);
    const GapSums* before = ending.most_varying;
    if (before == nullptr || explained > by_variation(*before, ending.all->threads))
      ending.most_varying = &each;
    ending.by_variation += explained;
  }
  return calls;
}

/// Gives waiting in calls that are not named, `elsewhere` by role, to the gaps found, by what is left of
/// their variation.
void add_indirect(std::vector<database::VaryingGap>& found, std::span<const double> left,
                  std::span<const double> elsewhere) {
  std::vector<double> all_left(elsewhere.size());
  for (std::size_t i = 0; i < found.size(); ++i) all_left[found[i].role] += left[i];
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::uint32_t role = found[i].role;
    if (all_left[role] <= 0) continue;
    const double explained = std::min(elsewhere[role], all_left[role]);
    found[i].unexplained_ns += static_cast<std::uint64_t>(explained * left[i] / all_left[role]);
  }
}

}  // namespace

void GapSums::add_squares(metrics::Uint128 squares) {
  const metrics::Uint128 sum = squares_of(*this) + squares;
  squares_low = static_cast<std::uint64_t>(sum);
  squares_high = static_cast<std::uint64_t>(sum >> 64);
}

void GapSums::add(const GapSums& other) {
  threads += other.threads;
  count += other.count;
  total_ns += other.total_ns;
  most_ns = std::max(most_ns, other.most_ns);
  longest_ns = std::max(longest_ns, other.longest_ns);
  add_squares(squares_of(other));
}

std::vector<database::VaryingGap> find_varying_gaps(std::span<const GapSums> gaps, const IdlenessAt& idleness,
                                                    std::span<const std::uint64_t> idle_ns) {
  std::vector<database::VaryingGap> found;
  std::vector<double> left;  // of each found: what its variation explains beyond its own call
  std::vector<double> elsewhere(idle_ns.size());  // by role: unexplained in calls that are not named
  for (const auto& [call, ending] : by_call(gaps)) {
    if (ending.all == nullptr || ending.all->threads < 2) continue;
    const auto& [role, context] = call;
    const std::uint64_t idle = idleness(role, context);
    const std::uint64_t lasting = ending.all->most_ns * ending.all->threads - ending.all->total_ns;
    const std::uint64_t unexplained = idle - std::min(idle, lasting);
    const auto least =
        std::max(kWorthNaming * static_cast<double>(idle_ns[role]), kMostly * static_cast<double>(idle));
    if (unexplained == 0 || static_cast<double>(unexplained) < least || ending.most_varying == nullptr ||
        ending.by_variation < kEnough * static_cast<double>(unexplained)) {
      elsewhere[role] += static_cast<double>(unexplained);
      continue;
    }
    const GapSums& most = *ending.most_varying;
    found.push_back({.role = role,
                     .context = context,
                     .after = most.after,
                     .threads = most.threads,
                     .count = most.count,
                     .mean_ns = most.total_ns / std::max<std::uint64_t>(most.count, 1),
                     .deviation_ns = static_cast<std::uint64_t>(deviation(most)),
                     .idle_ns = idle,
                     .unexplained_ns = unexplained});
    left.push_back(std::max(0.0, ending.by_variation - static_cast<double>(unexplained)));
  }
  add_indirect(found, left, elsewhere);
  std::ranges::stable_sort(found, std::ranges::greater(), &database::VaryingGap::unexplained_ns);
  return found;
}

}  // namespace culprit::blame
