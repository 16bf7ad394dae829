// Threads that only wait to be needed (docs/diagnosis.md): their waiting is no loss.
#include "findings/serving_threads.hpp"

#include "measurement/kinds.hpp"
#include "views/column.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace culprit::viewer {
namespace {

using database::ContextId;
using measurement::WaitKind;

/// Of their time: a pool that works for a hundredth of it has been idle, not serving. Who receives messages,
/// or is alone of its kind in its process, as one that writes files behind the others, works on each of them.
constexpr double kNearlyAlways = 0.99, kMostly = 0.95;

/// Whether no process has two threads of the role.
bool is_alone(const database::Contents& experiment, std::uint32_t role) {
  std::set<std::uint32_t> processes;
  std::uint32_t process = 0;
  for (std::uint32_t i = 0; i < experiment.locations.size(); ++i) {
    const database::LocationEntry location = experiment.locations[i];
    if (location.thread == 0) process = i;
    if (location.role == role && !processes.insert(process).second) return false;
  }
  return true;
}

}  // namespace

bool only_serves(const views::Figures& figures, std::uint32_t role) {
  const database::Contents& experiment = figures.experiment();
  const std::optional<std::uint32_t> time = views::metric_named(experiment, "REALTIME");
  const std::optional<std::uint32_t> idleness = views::metric_named(experiment, "idleness");
  const std::string_view name = experiment.roles[role].name;
  if (!time || !idleness || name == "main" || name.ends_with(" main")) return false;
  const auto value = [&](std::uint32_t metric, ContextId context) {
    return static_cast<double>(figures.context(role, metric, context, true).sum);
  };
  const double lived = value(*time, 0), idle = value(*idleness, 0);
  if (lived <= 0 || idle < kMostly * lived) return false;
  double in_mpi = 0, in_teams = 0;
  for (ContextId context = 0; context < experiment.contexts.size(); ++context) {
    const database::Context& scope = experiment.contexts[context];
    if ((scope.flags & database::kFrontier) == 0) continue;
    const auto kind = static_cast<WaitKind>(scope.wait_kind);
    if (kind == WaitKind::mpi) in_mpi += value(*idleness, context);
    if (kind == WaitKind::omp_barrier || kind == WaitKind::omp_idle) in_teams += value(*idleness, context);
  }
  if (in_teams > (1 - kMostly) * idle) return false;
  return 2 * in_mpi >= idle || idle >= kNearlyAlways * lived || is_alone(experiment, role);
}

std::vector<bool> serving_roles(const views::Figures& figures) {
  std::vector<bool> serving(figures.experiment().roles.size());
  for (std::uint32_t role = 0; role < serving.size(); ++role) serving[role] = only_serves(figures, role);
  return serving;
}

}  // namespace culprit::viewer
