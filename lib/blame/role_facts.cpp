// Sampling variance of a context's time and what counts as waiting, as balance and suspects need them
// (docs/algorithms.md 5.2).
#include "blame/role_facts.hpp"

#include <algorithm>
#include <stdexcept>

namespace culprit::blame {

double sampling_variance(metrics::Uint128 weight_sq, std::uint64_t blocked, metrics::Uint128 covered,
                         double share, std::uint32_t threads, std::uint64_t period_ns) {
  if (threads == 0) return 0;
  const double period = static_cast<double>(period_ns);
  const auto all = static_cast<double>(weight_sq);
  const double uncovered = std::max(0.0, all - static_cast<double>(covered) / kCoveredUnit);
  const double separate = std::min((1 - share) * all, uncovered);
  return period * period * (separate + static_cast<double>(blocked) / 4) / threads;
}

double sampling_variance(const RoleView& role, database::ContextId x, std::uint64_t period_ns) {
  const double root = static_cast<double>(role.time[0].sum);
  const double share = root > 0 ? static_cast<double>(role.time[x].sum) / root : 0;
  return sampling_variance(role.weight_sq[x], role.blocked[x], role.covered.empty() ? 0 : role.covered[x],
                           share, role.threads, period_ns);
}

bool is_wait(std::span<const database::Context> contexts, database::ContextId x) {
  if ((contexts[x].flags & (database::kInWait | database::kFrontier)) != 0) return true;
  if (contexts[x].kind != database::ContextKind::call || contexts[x].end == x + 1) return false;
  for (database::ContextId c = x + 1; c < contexts[x].end; c = contexts[c].end) {
    if ((contexts[c].flags & database::kFrontier) == 0) return false;
  }
  return true;
}

void check_role(const RoleView& role, std::size_t contexts) {
  const bool dense = role.time.size() == contexts && role.idleness.size() == contexts &&
                     role.weight_sq.size() == contexts && role.blocked.size() == contexts &&
                     (role.covered.empty() || role.covered.size() == contexts);
  if (!dense) throw std::invalid_argument("a role's values are not given for every context");
}

}  // namespace culprit::blame
