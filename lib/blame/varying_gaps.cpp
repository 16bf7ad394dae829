// Which waiting comes and goes from one iteration to the next, from sums alone (ours;
// docs/algorithms.md 5.8). If threads came to a call with lasting differences only, all would wait for the
// one whose gaps are longest in sum. What idleness is beyond that comes of gaps that vary: threads whose
// lengths vary by σ independently of each other wait for the largest of them, each time by σ · E[max of T
// normal numbers] on average. Where that is enough for half of what is unexplained, the gap is named. Cost:
// linear in pairs of calls.
#include "blame/varying_gaps.hpp"

#include "metrics/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace culprit::blame {
namespace {

/// Unexplained waiting is named from these shares on: of the role's idleness, and of that in the call.
constexpr double kWorthNaming = 0.05, kMostly = 0.5;
/// Variation must explain at least this share of what is unexplained.
constexpr double kEnough = 0.5;

metrics::Uint128 squares_of(const GapSums& gaps) {
  return metrics::Uint128{gaps.squares_high} << 64 | gaps.squares_low;
}

double deviation(const GapSums& gaps) {
  return gaps.count == 0 ? 0
                         : std::sqrt(static_cast<double>(squares_of(gaps)) / static_cast<double>(gaps.count));
}

/// Expected largest of this many standard normal numbers (Blom 1958).
double expected_largest(std::uint32_t threads) {
  if (threads < 2) return 0;
  return metrics::normal_quantile((threads - 0.375) / (threads + 0.25));
}

/// What waiting gaps of this variation can explain, of all threads. A stall amid a million short gaps makes
/// their deviation large; but nobody waits longer than the others' gaps last.
double by_variation(const GapSums& gaps, std::uint32_t threads) {
  const double as_normal = deviation(gaps) * static_cast<double>(gaps.count) * expected_largest(threads);
  return std::min(as_normal, (threads - 1.0) * static_cast<double>(gaps.total_ns));
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
  add_squares(squares_of(other));
}

std::vector<database::VaryingGap> find_varying_gaps(std::span<const GapSums> gaps, const IdlenessAt& idleness,
                                                    std::span<const std::uint64_t> idle_ns) {
  std::vector<database::VaryingGap> found;
  for (const auto& [call, ending] : by_call(gaps)) {
    if (ending.all == nullptr || ending.most_varying == nullptr || ending.all->threads < 2) continue;
    const auto& [role, context] = call;
    const std::uint64_t idle = idleness(role, context);
    const std::uint64_t lasting = ending.all->most_ns * ending.all->threads - ending.all->total_ns;
    const std::uint64_t unexplained = idle - std::min(idle, lasting);
    const auto least =
        std::max(kWorthNaming * static_cast<double>(idle_ns[role]), kMostly * static_cast<double>(idle));
    if (unexplained == 0 || static_cast<double>(unexplained) < least ||
        ending.by_variation < kEnough * static_cast<double>(unexplained))
      continue;
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
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &database::VaryingGap::unexplained_ns);
  return found;
}

}  // namespace culprit::blame
