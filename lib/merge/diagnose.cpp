#include "merge/diagnose.hpp"

#include "merge/shape.hpp"

#include <algorithm>

namespace culprit::merge {
namespace {

using database::ContextId;

/// Inclusive work (REALTIME − idleness) of one context, by location.
std::vector<std::uint64_t> work_of(const database::Experiment& experiment, const database::TileValues& values,
                                   ContextId context) {
  std::vector<std::uint64_t> work(experiment.locations.size(), 0);
  std::vector<std::uint64_t> idleness(experiment.locations.size(), 0);
  const ContextId end = experiment.contexts[context].end;
  values.add_inclusive(context, end, Columns::kRealtime, work);
  values.add_inclusive(context, end, Columns::kIdleness, idleness);
  for (std::size_t l = 0; l < work.size(); ++l) work[l] -= idleness[l];
  return work;
}

void diagnose_role(database::Experiment& experiment, std::uint32_t role, const RoleTotals& totals,
                   const database::TileValues& values, const blame::Options& options) {
  const blame::RoleView view{.threads = experiment.roles[role].threads,
                             .time = totals.time,
                             .idleness = totals.idleness,
                             .weight_sq = totals.weight_sq,
                             .blocked = totals.blocked};
  experiment.balance.push_back(blame::test_balance(experiment.contexts, view, options));
  experiment.blame.push_back(blame::shift_blame(experiment.contexts, view, experiment.balance.back()));
  std::vector<std::uint32_t> locations;
  for (std::uint32_t l = 0; l < experiment.locations.size(); ++l) {
    if (experiment.locations[l].role == role) locations.push_back(l);
  }
  const blame::WorkOf work_in_role = [&](ContextId context) {
    const std::vector<std::uint64_t> all = work_of(experiment, values, context);
    std::vector<std::uint64_t> of_role;
    of_role.reserve(locations.size());
    for (const std::uint32_t l : locations) of_role.push_back(all[l]);
    return of_role;
  };
  const auto suspects = blame::find_suspects(experiment.contexts, role, view, experiment.blame.back(),
                                             locations, work_in_role, options);
  experiment.suspects.insert(experiment.suspects.end(), suspects.begin(), suspects.end());
}

}  // namespace

void diagnose(database::Experiment& experiment, const Summaries& summaries,
              const database::TileValues& values, const blame::Options& options) {
  blame::Options measured = options;
  if (experiment.run.period_ns != 0) measured.period_ns = experiment.run.period_ns;
  for (std::uint32_t role = 0; role < experiment.roles.size(); ++role)
    diagnose_role(experiment, role, summaries.roles[role], values, measured);
  std::ranges::stable_sort(experiment.suspects, std::ranges::greater(), &database::Suspect::explains_ns);
}

}  // namespace culprit::merge
