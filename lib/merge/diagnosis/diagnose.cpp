// Balance, blame and suspects of each role (docs/algorithms.md 5.2 to 5.5; Tallent 2010): rank 0 decides from
// summaries; each rank reads the values of single threads that suspects need from its share of the tiles.
//
// What single threads recorded beside their values, of all ranks at rank 0: waits of one-sided communication
// (docs/algorithms.md 6), how threads were scheduled (5.6), and the gaps between waiting calls that vary
// from one iteration to the next (5.8).
#include "merge/diagnosis/diagnose.hpp"

#include "blame/machine.hpp"
#include "blame/one_sided.hpp"
#include "blame/varying_gaps.hpp"
#include "cct/message.hpp"
#include "merge/diagnosis/work_by_thread.hpp"
#include "merge/input/collectively.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace culprit::merge {

namespace {

void diagnose_role(database::Experiment& experiment, const Roles& roles, std::uint32_t role,
                   const RoleTotals& totals, WorkByThread& work, const blame::Options& options) {
  std::vector<std::uint32_t> compared;
  compared.reserve(experiment.roles[role].threads);
  for (std::uint32_t l = 0; l < roles.sums.size(); ++l) {
    if (roles.sums[l] == role) compared.push_back(l);
  }
  const blame::RoleView view{.threads = static_cast<std::uint32_t>(compared.size()),
                             .time = totals.time,
                             .idleness = totals.idleness,
                             .weight_sq = totals.weight_sq,
                             .blocked = totals.blocked,
                             .covered = totals.covered};
  experiment.balance.push_back(blame::test_balance(experiment.contexts, view, options));
  blame::RoleView of_all = view;
  of_all.threads = experiment.roles[role].threads;
  of_all.idleness = totals.idleness_of_all();
  experiment.blame.push_back(blame::shift_blame(experiment.contexts, of_all, experiment.balance.back()));
  std::vector<std::uint64_t> of_role, idleness;
  const auto in_role = [&](const std::vector<std::uint64_t>& all) -> std::span<const std::uint64_t> {
    if (compared.size() == all.size()) return all;
    of_role.resize(compared.size());
    std::ranges::transform(compared, of_role.begin(), [&](std::uint32_t l) { return all[l]; });
    return of_role;
  };
  const blame::ByThread values = {
      .work = [&](const blame::Ranges& of,
                  const blame::Ranges& within) { return in_role(work.of(of, within)); },
      .idleness =
          [&](database::ContextId x) {
            idleness = work.idleness({{.first = x, .end = experiment.contexts[x].end}});
            return in_role(idleness);
          }};
  const std::string_view name = experiment.roles[role].name;
  const blame::RoleThreads threads{
      .role = role, .locations = compared, .are_workers = name != "main" && !name.ends_with(" main")};
  const auto suspects =
      blame::find_suspects(experiment.contexts, threads, view, experiment.blame.back(), values, options);
  experiment.suspects.insert(experiment.suspects.end(), suspects.begin(), suspects.end());
}

/// What mending other threads saves is at most what the run is longer than its busiest main thread works:
/// that one has the same work then (docs/algorithms.md 5.5).
void limit_savings(database::Experiment& experiment, const Roles& roles, WorkByThread& work) {
  const auto is_of_main = [&](std::uint32_t role) { return experiment.roles[role].name == "main"; };
  const auto others = [&](const database::Suspect& suspect) { return !is_of_main(suspect.role); };
  if (std::ranges::none_of(experiment.suspects, others)) return;
  const blame::Ranges all{{.first = 0, .end = static_cast<database::ContextId>(experiment.contexts.size())}};
  const std::vector<std::uint64_t> idle = work.idleness(all);
  const std::vector<std::uint64_t>& works = work.of(all, all);
  std::uint64_t longest = 0, busiest = 0;
  for (std::size_t l = 0; l < works.size() && l < idle.size(); ++l) {
    longest = std::max(longest, works[l] + idle[l]);
    if (is_of_main(roles.of(l))) busiest = std::max(busiest, works[l]);
  }
  for (database::Suspect& suspect : experiment.suspects) {
    if (!others(suspect)) continue;
    suspect.save_balanced_ns = std::min(suspect.save_balanced_ns, longest - busiest);
    suspect.save_removed_ns = std::min(suspect.save_removed_ns, longest - busiest);
  }
}

}  // namespace

void diagnose(WorkByThread& work, database::Experiment& experiment, const Roles& roles,
              const Summaries& summaries, const blame::Options& options) {
  blame::Options measured = options;
  if (experiment.run.period_ns != 0) measured.period_ns = experiment.run.period_ns;
  work.run([&] {
    for (std::uint32_t role = 0; role < experiment.roles.size(); ++role)
      diagnose_role(experiment, roles, role, summaries.roles[role], work, measured);
    limit_savings(experiment, roles, work);
  });
  std::ranges::stable_sort(experiment.suspects, std::ranges::greater(), &database::Suspect::explains_ns);
}

namespace {

using database::ScheduledThread;

/// Sets the ranks and hosts of rows of one-sided communication, and of its stamps, by their locations.
void place(std::vector<blame::EpochRow>& rows, std::vector<blame::EpochStamp>& stamps,
           const database::EachLocation& locations) {
  if (rows.empty() && stamps.empty()) return;
  struct Place {
    std::int32_t rank = -1;
    std::string host;
  };
  std::map<std::uint32_t, Place> places;  // of those that are asked for: mostly few
  for (const blame::EpochRow& row : rows) places.try_emplace(row.location);
  for (const blame::EpochStamp& stamp : stamps) places.try_emplace(stamp.location);
  std::uint32_t next = 0;
  auto wanted = places.begin();
  locations([&](const database::Location& location) {
    if (wanted == places.end() || wanted->first != next++) return;
    wanted->second = {.rank = location.rank, .host = location.host};
    ++wanted;
  });
  for (blame::EpochRow& row : rows) row.rank = places.at(row.location).rank;
  std::map<std::string, std::uint32_t> hosts;
  for (blame::EpochStamp& stamp : stamps) {
    const Place& at = places.at(stamp.location);
    stamp.rank = at.rank;
    stamp.host = hosts.try_emplace(at.host, static_cast<std::uint32_t>(hosts.size())).first->second;
  }
}

/// Collective: sets the waits of rank 0's experiment, and what its quality says of them.
void find_waits(exchange::Communicator& comm, const RunFacts& run, const database::EachLocation& locations,
                database::Experiment& experiment) {
  cct::MessageWriter message;
  message.values(run.epochs);
  message.values(run.stamps);
  const std::vector<exchange::Bytes> all = comm.gather(message.take(), 0);
  collectively(comm, [&] {
    if (comm.rank() != 0) return;
    std::vector<blame::EpochRow> rows;
    std::vector<blame::EpochStamp> stamps;
    for (const exchange::Bytes& bytes : all) {
      cct::MessageReader reader(bytes);
      const auto some_rows = reader.values<blame::EpochRow>();
      rows.insert(rows.end(), some_rows.begin(), some_rows.end());
      const auto some_stamps = reader.values<blame::EpochStamp>();
      stamps.insert(stamps.end(), some_stamps.begin(), some_stamps.end());
    }
    place(rows, stamps, locations);
    blame::Approximation approximation = blame::approximate_waits(rows, stamps);
    experiment.waits = std::move(approximation.waits);
    experiment.quality.unclassified_wait_ns = approximation.unclassified_ns;
    experiment.quality.excess_wait_ns = approximation.excess_ns;
  });
}

/// Threads, with what their locations say of them.
struct Placed {
  std::vector<blame::ThreadOnHost> threads;
  std::map<std::uint32_t, blame::BriefThreads> brief;
};

/// All ascend by location.
Placed place(const std::vector<ScheduledThread>& threads, const std::vector<BriefThread>& brief,
             const database::EachLocation& locations) {
  Placed placed;
  placed.threads.reserve(threads.size());
  std::map<std::string, std::uint32_t> hosts;
  auto next_brief = brief.begin();
  std::uint32_t number = 0;
  locations([&](const database::Location& location) {
    const auto host_number = [&] {
      return hosts.try_emplace(location.host, static_cast<std::uint32_t>(hosts.size())).first->second;
    };
    const std::size_t next = placed.threads.size();
    if (next < threads.size() && threads[next].location == number) {
      const std::uint32_t host = host_number();
      placed.threads.push_back({.facts = threads[next],
                                .role = location.role,
                                .host = host,
                                .process = std::uint64_t{host} << 32 | (location.pid & 0xffffffff),
                                .is_rank = location.rank >= 0 && location.thread == 0});
    } else if (next_brief != brief.end() && next_brief->location == number) {
      blame::BriefThreads& of_host = placed.brief[host_number()];
      ++of_host.threads;
      of_host.cpu_ns += next_brief++->cpu_ns;
    }
    ++number;
  });
  return placed;
}

/// Collective: what all ranks have of `own`, on rank 0, ascending by location.
template <class Row>
std::vector<Row> gather_by_location(exchange::Communicator& comm, const std::vector<Row>& own) {
  cct::MessageWriter message;
  message.values(own);
  const std::vector<exchange::Bytes> all = comm.gather(message.take(), 0);
  std::vector<Row> rows;
  collectively(comm, [&] {
    for (const exchange::Bytes& bytes : all) {
      const auto some = cct::MessageReader(bytes).values<Row>();
      rows.insert(rows.end(), some.begin(), some.end());
    }
    std::ranges::sort(rows, {}, &Row::location);
  });
  return rows;
}

/// Collective: how all threads were scheduled, and whether the machine is a suspect.
void find_machine(exchange::Communicator& comm, const RunFacts& run, const database::EachLocation& locations,
                  database::Experiment& experiment) {
  std::vector<ScheduledThread> threads = gather_by_location(comm, run.schedules);
  const std::vector<BriefThread> brief = gather_by_location(comm, run.brief);
  collectively(comm, [&] {
    if (comm.rank() != 0 || threads.empty()) return;
    const Placed placed = place(threads, brief, locations);
    experiment.machine.suspects = blame::find_machine_suspects(
        {.threads = placed.threads, .brief = placed.brief, .period_ns = experiment.run.period_ns});
    experiment.machine.threads = std::move(threads);
  });
}

/// Collective: the gaps of all ranks, added up by role and calls; those that vary.
void find_gaps(exchange::Communicator& comm, const std::map<blame::GapSums::Key, blame::GapSums>& of_threads,
               const Summaries& summaries, database::Experiment& experiment) {
  std::vector<blame::GapSums> own;
  own.reserve(of_threads.size());
  for (const auto& [key, sums] : of_threads) own.push_back(sums);
  cct::MessageWriter message;
  message.values(own);
  const std::vector<exchange::Bytes> all = comm.gather(message.take(), 0);
  collectively(comm, [&] {
    if (comm.rank() != 0) return;
    std::map<blame::GapSums::Key, blame::GapSums> sums;
    for (const exchange::Bytes& bytes : all) {
      for (const auto& some : cct::MessageReader(bytes).values<blame::GapSums>()) {
        const auto [known, fresh] = sums.try_emplace(some.key(), some);
        if (!fresh) known->second.add(some);
      }
    }
    std::vector<blame::GapSums> gaps;
    gaps.reserve(sums.size());
    for (const auto& [key, each] : sums) gaps.push_back(each);
    std::vector<std::uint64_t> idle;
    for (const RoleTotals& role : summaries.roles) {
      idle.push_back(
          role.idleness_of_all().empty() ? 0 : static_cast<std::uint64_t>(role.idleness_of_all()[0].sum));
    }
    const auto idleness = [&](std::uint32_t role, database::ContextId context) {
      return static_cast<std::uint64_t>(summaries.roles.at(role).idleness_of_all().at(context).sum);
    };
    experiment.varying_gaps = blame::find_varying_gaps(gaps, idleness, idle);
  });
}

}  // namespace

void mark_lone_waits(exchange::Communicator& comm, const RunFacts& run,
                     std::vector<database::Context>& contexts) {
  cct::MessageWriter message;
  std::vector<std::uint32_t> flat;
  for (const auto& [context, kind] : run.lone_waits) {
    flat.insert(flat.end(), {context, static_cast<std::uint32_t>(kind)});
  }
  message.values(flat);
  for (const exchange::Bytes& bytes : comm.gather(message.take(), 0)) {
    const auto pairs = cct::MessageReader(bytes).values<std::uint32_t>();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      database::Context& context = contexts.at(pairs[i]);
      context.flags |= database::kFrontier | database::kInWait;
      context.wait_kind = std::max(context.wait_kind, static_cast<std::uint8_t>(pairs[i + 1]));
    }
  }
}

void gather_facts(exchange::Communicator& comm, const RunFacts& run, const Summaries& summaries,
                  const database::EachLocation& locations, database::Experiment& experiment) {
  find_waits(comm, run, locations, experiment);
  find_machine(comm, run, locations, experiment);
  find_gaps(comm, run.gaps, summaries, experiment);
}

}  // namespace culprit::merge
