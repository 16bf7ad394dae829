#include "scripted_run.hpp"

#include "exchange/threads.hpp"
#include "waits/clocks/causal_order.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <ostream>

namespace culprit::waits::testing {

namespace trace = measurement::trace;

Operation on(OperationKind kind, measurement::trace::Context context, std::int32_t peer,
             measurement::trace::Context group) {
  Operation operation;
  operation.kind = kind;
  operation.context = context;
  operation.peer = peer;
  operation.group = group;
  return operation;
}

Operation begun(Operation operation, std::uint64_t id) {
  operation.completes = false;
  operation.id = id;
  return operation;
}

Operation completed(Operation operation, std::uint64_t id) {
  operation.begins = false;
  operation.id = id;
  return operation;
}

Operation message(OperationKind kind, std::int32_t peer, std::int32_t tag) {
  Operation operation = on(kind, 0, peer);
  operation.tag = tag;
  return operation;
}

ScriptedRun::ScriptedRun(std::int32_t ranks, std::size_t threads)
    : processes(static_cast<std::size_t>(ranks)) {
  for (Process& process : processes) process.threads.resize(threads);
  std::vector<std::int32_t> all(processes.size());
  std::iota(all.begin(), all.end(), 0);
  define(trace::DefinitionKind::communicator, all);
}

std::uint32_t ScriptedRun::call(std::int32_t rank, std::uint64_t enter, std::uint64_t exit,
                                std::vector<Operation> operations, std::size_t thread, bool any) {
  std::vector<Record>& records = processes[static_cast<std::size_t>(rank)].threads[thread];
  Record& record = records.emplace_back();
  record.kind = trace::RecordKind::call;
  record.enter_ns = enter;
  record.exit_ns = exit;
  record.any = any;
  record.operations = std::move(operations);
  last_call = {static_cast<std::size_t>(rank), thread};
  const auto calls = std::count_if(records.begin(), records.end(),
                                   [](const Record& one) { return one.kind == trace::RecordKind::call; });
  return static_cast<std::uint32_t>(calls - 1);
}

void ScriptedRun::path(std::uint32_t context) {
  processes[last_call.first].threads[last_call.second].back().node = context;
}

void ScriptedRun::sample(std::int32_t rank, std::uint64_t at, std::uint64_t since, std::uint32_t context,
                         std::size_t thread, measurement::WaitKind kind) {
  Record& record = processes[static_cast<std::size_t>(rank)].threads[thread].emplace_back();
  record.kind = trace::RecordKind::sample;
  record.enter_ns = since;
  record.exit_ns = at;
  record.node = context;
  record.wait = static_cast<std::uint8_t>(kind);
}

void ScriptedRun::region(std::int32_t rank, std::uint64_t begin, std::uint64_t end, std::uint32_t context) {
  Record& record = processes[static_cast<std::size_t>(rank)].threads[0].emplace_back();
  record.kind = trace::RecordKind::marked_region;
  record.enter_ns = begin;
  record.exit_ns = end;
  record.node = context;
}

void ScriptedRun::thread_wait(std::int32_t rank, std::uint64_t begin, std::uint64_t end,
                              measurement::WaitKind kind, measurement::WaitHolder holder,
                              std::size_t thread) {
  Record& record = processes[static_cast<std::size_t>(rank)].threads[thread].emplace_back();
  record.kind = trace::RecordKind::thread_wait;
  record.enter_ns = begin;
  record.exit_ns = end;
  record.wait = static_cast<std::uint8_t>(kind);
  record.holder = holder;
}

void ScriptedRun::reading(std::int32_t rank, std::uint64_t at, std::uint8_t event, std::uint64_t value) {
  Record& record = processes[static_cast<std::size_t>(rank)].threads[0].emplace_back();
  record.kind = trace::RecordKind::reading;
  record.enter_ns = record.exit_ns = at;
  record.event = event;
  record.value = value;
}

trace::Context ScriptedRun::define(trace::DefinitionKind kind, std::vector<std::int32_t> members) {
  ++made;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const auto rank = static_cast<std::int32_t>(i);
    const auto at = std::find(members.begin(), members.end(), rank);
    Definition definition;
    definition.kind = kind;
    definition.size = static_cast<std::uint32_t>(members.size());
    if (at != members.end()) definition.rank = static_cast<std::int32_t>(at - members.begin());
    if (kind == trace::DefinitionKind::group || at != members.end()) {
      definition.global_id = kind == trace::DefinitionKind::group ? 0 : made;
      if (kind == trace::DefinitionKind::group || at == members.begin()) definition.members = members;
    } else {
      definition.kind =
          trace::DefinitionKind::group;  // one that the process does not know: keeps indices alike
    }
    processes[i].definitions.push_back(std::move(definition));
  }
  return static_cast<trace::Context>(processes.front().definitions.size() - 1);
}

namespace {

class ScriptedTrace final : public ProcessTrace {
 public:
  ScriptedTrace(const ScriptedRun& run, std::int32_t rank)
      : process_(run.processes[static_cast<std::size_t>(rank)]),
        rank_(rank),
        at_(process_.threads.size(), 0) {}

  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] const std::vector<Definition>& definitions() const override { return process_.definitions; }
  [[nodiscard]] std::size_t threads() const override { return process_.threads.size(); }
  bool next(std::size_t thread, Record& record) override {
    if (at_[thread] == process_.threads[thread].size()) return false;
    record = process_.threads[thread][at_[thread]++];
    record.enter_ns = pushed_(record.enter_ns);
    record.exit_ns = pushed_(record.exit_ns);
    return true;
  }
  bool rewind(std::span<const ClockViolation> violations) override {
    pushed_.add(violations);
    at_.assign(at_.size(), 0);
    return true;
  }

 private:
  const ScriptedRun::Process& process_;
  std::int32_t rank_;
  std::vector<std::size_t> at_;
  PushForward pushed_;
};

}  // namespace

std::vector<std::unique_ptr<ProcessTrace>> traces(const ScriptedRun& run,
                                                  const exchange::Communicator& analysis) {
  std::vector<std::unique_ptr<ProcessTrace>> own;
  for (std::size_t rank = 0; rank < run.processes.size(); ++rank) {
    if (static_cast<int>(rank) % analysis.size() != analysis.rank()) continue;
    own.push_back(std::make_unique<ScriptedTrace>(run, static_cast<std::int32_t>(rank)));
  }
  return own;
}

TimeMap time_map_of(const ScriptedRun& run, int analysts) {
  TimeMap all;
  std::mutex mutex;
  exchange::run_on_threads(analysts, [&](exchange::Communicator& analysis) {
    const auto own = traces(run, analysis);
    const RankMap rank_map(analysis, own);
    const Matched matched = match_traces(analysis, rank_map, own);
    TimeMap found = time_map(analysis, rank_map, matched, [](std::uint32_t context) { return context; });
    const std::lock_guard lock(mutex);
    found.rows.insert(found.rows.end(), all.rows.begin(), all.rows.end());
    all = std::move(found);
  });
  std::sort(all.rows.begin(), all.rows.end(),
            [](const TimeMapRow& a, const TimeMapRow& b) { return a.rank < b.rank; });
  return all;
}

namespace {

/// Those of this rank of the analysis, in the order of its time lines.
std::vector<std::vector<IterationMark>> marks_of(const Matched& matched, const RankMap& rank_map,
                                                 const std::vector<std::vector<IterationMark>>& marks) {
  std::vector<std::vector<IterationMark>> own;
  for (const TimeLine& line : matched.store.lines()) {
    const auto rank = static_cast<std::size_t>(rank_map.rank_of(line.location));
    own.push_back(rank < marks.size() ? marks[rank] : std::vector<IterationMark>{});
  }
  return own;
}

}  // namespace

SegmentValues segment_values_of(const ScriptedRun& run, const CallPaths& paths,
                                const std::vector<std::vector<IterationMark>>& marks, int analysts,
                                std::size_t events) {
  SegmentValues all(run.processes.size());
  std::mutex mutex;
  exchange::run_on_threads(analysts, [&](exchange::Communicator& analysis) {
    const auto own = traces(run, analysis);
    const RankMap rank_map(analysis, own);
    const Matched matched = match_traces(analysis, rank_map, own);
    const ProcedureSums sums(analysis, rank_map, matched, paths);
    const auto own_marks = marks_of(matched, rank_map, marks);
    const Variation found = variation(analysis, rank_map, matched, sums, {.marks = own_marks});
    const SegmentValues values = segment_values(rank_map, matched, found, events);
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < values.size(); ++i) all[static_cast<std::size_t>(found.ranks[i])] = values[i];
  });
  return all;
}

Variation vary(const ScriptedRun& run, const CallPaths& paths,
               const std::vector<std::vector<IterationMark>>& marks, int analysts,
               const VariationOptions& options, std::uint32_t before) {
  std::vector<std::pair<std::int32_t, std::vector<Segment>>> rows;
  Variation all;
  std::mutex mutex;
  exchange::run_on_threads(analysts, [&](exchange::Communicator& analysis) {
    const auto own = traces(run, analysis);
    const RankMap rank_map(analysis, own);
    const Matched matched = match_traces(analysis, rank_map, own);
    const ProcedureSums sums(analysis, rank_map, matched, paths);
    Variation other;
    if (before != CallPaths::kNone)
      other = variation(analysis, rank_map, matched, sums, {.procedure = before});
    const auto own_marks = marks_of(matched, rank_map, marks);
    VariationOptions of_own = options;
    of_own.marks = own_marks;
    Variation found = variation(analysis, rank_map, matched, sums, of_own, std::move(other));
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < found.rows.size(); ++i) rows.emplace_back(found.ranks[i], found.rows[i]);
    found.outliers.insert(found.outliers.end(), all.outliers.begin(), all.outliers.end());
    all = std::move(found);
  });
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  all.ranks.clear();
  all.rows.clear();
  for (auto& [rank, row] : rows) {
    all.ranks.push_back(rank);
    all.rows.push_back(std::move(row));
  }
  return all;
}

Ordered read_ordered(const ScriptedRun& run, int analysts) {
  Ordered all;
  all.calls.resize(run.processes.size());
  std::mutex mutex;
  exchange::run_on_threads(analysts, [&](exchange::Communicator& analysis) {
    const auto own = traces(run, analysis);
    const RankMap rank_map(analysis, own);
    const CausallyMatched found = read_in_causal_order(analysis, rank_map, own);
    const std::lock_guard lock(mutex);
    all.violations += found.violations;
    all.left += found.left;
    for (const TimeLine& line : found.matched.store.lines()) {
      auto& calls = all.calls[static_cast<std::size_t>(rank_map.rank_of(line.location))];
      for (const Event& event : line.events) calls.emplace_back(event.enter_ns, event.exit_ns);
    }
  });
  return all;
}

std::vector<OwnTime> own_times_of(const ScriptedRun& run) {
  std::vector<OwnTime> times;
  exchange::run_on_threads(1, [&](exchange::Communicator& analysis) {
    const auto own = traces(run, analysis);
    const RankMap rank_map(analysis, own);
    times = match_traces(analysis, rank_map, own).own_times;
  });
  return times;
}

Found analyse(const ScriptedRun& run, int analysts, std::uint64_t records_per_round,
              const storage::SpillOptions& spill, std::uint64_t waits_per_round, double hotspot_threshold) {
  Found found;
  std::mutex mutex;
  exchange::run_on_threads(analysts, [&](exchange::Communicator& analysis) {
    const auto own = traces(run, analysis);
    const RankMap rank_map(analysis, own);
    Matched matched =
        match_traces(analysis, rank_map, own, {}, {.records_per_round = records_per_round, .spill = spill});
    const ProcedureChains chains(run.paths);
    HotspotDiagnosis diagnosis(matched, {}, chains);
    IndirectWaits indirect;
    DelayCosts delays = delay_costs(analysis, rank_map, matched,
                                    {.waits_per_round = waits_per_round,
                                     .intervals_together = static_cast<std::size_t>(records_per_round),
                                     .accounts_kept = static_cast<std::size_t>(records_per_round),
                                     .observer =
                                         [&](const ComparedWait& wait) {
                                           diagnosis.add(wait);
                                           indirect.add(wait);
                                         },
                                     .chains = &chains});
    indirect.set(matched.wait_sums);
    CriticalPath path = critical_path(analysis, rank_map, matched);
    const TimeMap map = time_map(analysis, rank_map, matched, [](std::uint32_t context) { return context; });
    const Efficiency efficiency = culprit::waits::efficiency(analysis, map, path);
    const std::vector<Hotspot> hotspots = diagnosis.find(analysis, hotspot_threshold);
    const std::lock_guard lock(mutex);
    found.efficiency = efficiency;
    found.sums.insert(found.sums.end(), matched.wait_sums.begin(), matched.wait_sums.end());
    found.hotspots.insert(found.hotspots.end(), hotspots.begin(), hotspots.end());
    std::swap(path.times, found.path.times);
    path.times.insert(path.times.end(), found.path.times.begin(), found.path.times.end());
    found.path = std::move(path);
    found.delays.costs.insert(found.delays.costs.end(), delays.costs.begin(), delays.costs.end());
    found.delays.unattributed_ns += delays.unattributed_ns;
    found.delays.direct_ns += delays.direct_ns;
    found.delays.indirect_ns += delays.indirect_ns;
    found.delays.contradictory_ns += delays.contradictory_ns;
    found.unmatched.add(matched.unmatched());
    found.unmatched_ranks.merge(std::set(matched.store.unmatched_ranks));
    for (TimeLine& line : matched.store.lines()) {
      for (const Wait& wait : line.waits) {
        found.waits.push_back({rank_map.rank_of(line.location), wait.event, wait.pattern, wait.ns,
                               rank_map.rank_of(wait.cause.location), wait.cause.index});
      }
    }
  });
  std::sort(found.waits.begin(), found.waits.end());
  std::sort(found.sums.begin(), found.sums.end());
  std::sort(found.path.times.begin(), found.path.times.end());
  std::sort(found.hotspots.begin(), found.hotspots.end());
  std::sort(found.delays.costs.begin(), found.delays.costs.end());
  return found;
}

std::ostream& operator<<(std::ostream& out, const FoundWait& wait) {
  return out << "{rank " << wait.rank << " call " << wait.call << ' ' << name_of(wait.pattern) << ' '
             << wait.ns << " ns because of rank " << wait.cause_rank << " call " << wait.cause_call << '}';
}

}  // namespace culprit::waits::testing
