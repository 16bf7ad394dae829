// Balance, blame and suspects of each role (docs/algorithms.md 5.2 to 5.5; Tallent 2010): rank 0 decides from
// summaries; each rank reads the values of single threads that suspects need from its share of the tiles.
#include "merge/diagnosis/diagnose.hpp"

#include "merge/diagnosis/work_by_thread.hpp"

#include <algorithm>

namespace culprit::merge {
namespace {

void diagnose_role(database::Experiment& experiment, std::span<const std::uint32_t> roles, std::uint32_t role,
                   const RoleTotals& totals, WorkByThread& work, const blame::Options& options) {
  const blame::RoleView view{.threads = experiment.roles[role].threads,
                             .time = totals.time,
                             .idleness = totals.idleness,
                             .weight_sq = totals.weight_sq,
                             .blocked = totals.blocked,
                             .covered = totals.covered};
  experiment.balance.push_back(blame::test_balance(experiment.contexts, view, options));
  experiment.blame.push_back(blame::shift_blame(experiment.contexts, view, experiment.balance.back()));
  std::vector<std::uint32_t> locations;
  locations.reserve(experiment.roles[role].threads);
  for (std::uint32_t l = 0; l < roles.size(); ++l) {
    if (roles[l] == role) locations.push_back(l);
  }
  std::vector<std::uint64_t> of_role;
  const blame::WorkOf work_in_role = [&](const blame::Ranges& of,
                                         const blame::Ranges& within) -> std::span<const std::uint64_t> {
    const std::vector<std::uint64_t>& all = work.of(of, within);
    if (locations.size() == all.size()) return all;
    of_role.resize(locations.size());
    std::ranges::transform(locations, of_role.begin(), [&](std::uint32_t l) { return all[l]; });
    return of_role;
  };
  const auto suspects = blame::find_suspects(experiment.contexts, {role, locations}, view,
                                             experiment.blame.back(), work_in_role, options);
  experiment.suspects.insert(experiment.suspects.end(), suspects.begin(), suspects.end());
}

}  // namespace

void diagnose(WorkByThread& work, database::Experiment& experiment, std::span<const std::uint32_t> roles,
              const Summaries& summaries, const blame::Options& options) {
  blame::Options measured = options;
  if (experiment.run.period_ns != 0) measured.period_ns = experiment.run.period_ns;
  work.run([&] {
    for (std::uint32_t role = 0; role < experiment.roles.size(); ++role)
      diagnose_role(experiment, roles, role, summaries.roles[role], work, measured);
  });
  std::ranges::stable_sort(experiment.suspects, std::ranges::greater(), &database::Suspect::explains_ns);
}

}  // namespace culprit::merge
