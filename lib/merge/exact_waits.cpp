#include "merge/exact_waits.hpp"

#include "merge/together.hpp"
#include "waits/forward.hpp"
#include "waits/letter.hpp"
#include "waits/roster.hpp"
#include "waits/wait_sums.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace culprit::merge {
namespace {

using database::ContextId;
using database::Experiment;
using database::Wait;
using database::WaitPattern;
using waits::Pattern;
using waits::WaitSum;

WaitPattern named(Pattern pattern) {
  static_assert(static_cast<int>(Pattern::late_sender) == static_cast<int>(WaitPattern::late_sender) + 1);
  static_assert(static_cast<int>(Pattern::lock_wait) == static_cast<int>(WaitPattern::lock_wait) + 1);
  return static_cast<WaitPattern>(static_cast<int>(pattern) - 1);
}

/// Of each time line, its thread in the database.
std::vector<std::uint32_t> threads_of(const waits::Roster& roster, const Experiment& experiment) {
  std::map<std::int32_t, std::uint32_t> first;
  for (std::uint32_t i = 0; i < experiment.locations.size(); ++i)
    first.try_emplace(experiment.locations[i].rank, i);
  std::vector<std::uint32_t> threads(roster.locations(), 0);
  for (waits::Location location = 0; location < roster.locations(); ++location) {
    const std::int32_t rank = roster.rank_of(location);
    const auto found = first.find(rank);
    if (found != first.end()) threads[location] = found->second + (location - roster.location_of(rank, 0));
  }
  return threads;
}

/// The MPI frame that a call's path ends in: the outermost frontier on it, else the context itself.
ContextId frontier_of(const Experiment& experiment, ContextId context) {
  ContextId found = context;
  for (ContextId at = context; at < experiment.contexts.size(); at = experiment.contexts[at].parent) {
    if ((experiment.contexts[at].flags & database::kFrontier) != 0) found = at;
  }
  return found;
}

/// Rank 0: the waits of all ranks by frontier frames, sums that fall together added.
std::vector<Wait> unite(const std::vector<exchange::Bytes>& all, const waits::Roster& roster,
                        const Experiment& experiment) {
  const std::vector<std::uint32_t> threads = threads_of(roster, experiment);
  std::map<std::tuple<WaitPattern, std::uint32_t, ContextId, std::uint32_t, ContextId>, Wait> sums;
  for (const exchange::Bytes& bytes : all) {
    for (const WaitSum& sum : waits::items_of<WaitSum>(bytes)) {
      const Wait part{.pattern = named(sum.pattern),
                      .location = threads.at(sum.location),
                      .context = frontier_of(experiment, sum.context),
                      .cause_location = threads.at(sum.cause),
                      .cause_context = frontier_of(experiment, sum.cause_context),
                      .exact = true,
                      .ns = 0,
                      .count = 0};
      Wait& whole =
          sums.try_emplace(
                  {part.pattern, part.location, part.context, part.cause_location, part.cause_context}, part)
              .first->second;
      whole.ns += sum.ns;
      whole.count += sum.count;
    }
  }
  std::vector<Wait> waits;
  for (const auto& [key, wait] : sums) waits.push_back(wait);
  return waits;
}

/// What time stamps tell replaces what was approximated for the same threads; waits of threads and for
/// flushes are known by approximation only.
void replace_approximations(std::vector<Wait>& waits, std::vector<Wait>&& exact,
                            const std::set<std::uint32_t>& traced) {
  std::erase_if(waits, [&](const Wait& wait) {
    return wait.pattern < WaitPattern::flush_wait && traced.contains(wait.location);
  });
  waits.insert(waits.end(), exact.begin(), exact.end());
  std::stable_sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) { return a.ns > b.ns; });
}

}  // namespace

void find_exact_waits(exchange::Communicator& comm, TimeLines& lines, Experiment& experiment) {
  if (comm.all_sum(lines.processes.size()) == 0) return;
  const waits::Roster roster(comm, lines.processes);
  const waits::Forward forward = waits::read_forward(comm, roster, lines.processes);
  const std::vector<WaitSum> sums = waits::sum_waits(comm, roster, forward);
  const std::vector<exchange::Bytes> all = comm.gather(waits::bytes_of(std::span<const WaitSum>(sums)), 0);
  const std::uint64_t violations = comm.all_sum(forward.unmatched().clock_violations);
  together(comm, [&] {
    if (comm.rank() != 0) return;
    experiment.quality.clock_violations += violations;
    const std::vector<std::uint32_t> threads = threads_of(roster, experiment);
    replace_approximations(experiment.waits, unite(all, roster, experiment),
                           {threads.begin(), threads.end()});
  });
}

}  // namespace culprit::merge
