// All analyses of time lines, in order: read and match in causal order, waits, delay costs with hotspots, map
// of time, critical path, efficiencies, variation by levels and by chosen procedures (docs/algorithms.md 7 to
// 11). Their results become tables on rank 0 and metrics of the threads. Costs per event: docs/figures.md.
#include "merge/timelines/time_line_analyses.hpp"

#include "database/consistency.hpp"
#include "exchange/machine.hpp"
#include "exchange/message_exchange.hpp"
#include "merge/timelines/communication.hpp"
#include "merge/timelines/time_line_scopes.hpp"
#include "merge/timelines/trace_tables.hpp"
#include "waits/causes/indirect_waits.hpp"
#include "waits/clocks/causal_order.hpp"
#include "waits/communication/traffic.hpp"
#include "waits/path/efficiency.hpp"
#include "waits/states/line_records.hpp"
#include "waits/states/matching_pass.hpp"
#include "waits/timeline/rank_map.hpp"
#include "waits/variation/segment_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace culprit::merge {
namespace {

using database::ContextId;
using database::Experiment;
using database::Wait;
using database::WaitPattern;

/// The dominant procedure and those below it: this many levels at most.
constexpr std::size_t kLevels = 3;

/// What time stamps show replaces what was approximated for the same threads; waits for flushes are known by
/// approximation only, and those of threads where these have no time lines as ranks have them.
void replace_approximations(std::vector<Wait>& waits, std::vector<Wait>&& exact,
                            const std::set<std::uint32_t>& traced) {
  std::set<std::pair<std::uint32_t, WaitPattern>> of_threads;
  for (const Wait& wait : exact) {
    if (metrics::is_of_threads(wait.pattern)) of_threads.emplace(wait.location, wait.pattern);
  }
  std::erase_if(waits, [&](const Wait& wait) {
    return (wait.pattern < WaitPattern::flush_wait && traced.contains(wait.location)) ||
           of_threads.contains({wait.location, wait.pattern});
  });
  waits.insert(waits.end(), exact.begin(), exact.end());
  std::ranges::stable_sort(waits, std::ranges::greater(), &Wait::ns);
}

/// What barriers of threads that are shown as ranks stand for. When all leave one after it was released is up
/// to the system.
void name_thread_waits(const Shape& shape, waits::Matched& matched) {
  const auto pattern_at = [&shape](ContextId context) {
    return waits::pattern_of(shape.contexts[call_scope(shape, context)].wait);
  };
  for (waits::TimeLine& line : matched.store.lines()) {
    for (std::size_t i = 0; i < line.waits.size(); ++i) {
      waits::Wait& wait = line.waits.change(i);
      if (metrics::is_whole_wait(wait.pattern)) wait.pattern = pattern_at(wait.context);
    }
  }
  std::erase_if(matched.wait_sums,
                [](const waits::WaitSum& sum) { return !metrics::is_whole_wait(sum.pattern); });
  for (waits::WaitSum& sum : matched.wait_sums) sum.pattern = pattern_at(sum.context);
}

/// A note where waits too short for the time lines took more of the ranks' time than is said of nothing.
std::string note_short_waits(std::uint64_t ns, const database::TraceAnalyses& trace) {
  constexpr double kWorthSaying = 0.01;
  const double all_ns = static_cast<double>(trace.run_ns) * static_cast<double>(trace.traced);
  const double share = all_ns > 0 ? static_cast<double>(ns) / all_ns : 0;
  if (share <= kWorthSaying) return {};
  return "waits of the ranks' main threads for other threads too short for time lines (below 20 us, or "
         "hpcrun-lite --trace-threads-above) took " +
         std::to_string(std::llround(100 * share)) +
         " % of the run: variation and efficiencies take them for work";
}

/// A note where hotspots were not looked for as usual.
std::string note_threshold(double share) {
  if (share == kUsualHotspotThreshold) return {};
  std::ostringstream note;
  note << "hotspots are procedures with " << 100 * share
       << " % of the time or more (prof-mpi --hotspot-threshold)";
  return note.str();
}

/// The program's marks of iterations, by time line.
struct Marks {
  std::map<waits::Location, std::vector<waits::IterationMark>> marks;
  ContextId around = database::kNone;  ///< the innermost context around all of them

  void observe(const Shape& shape, waits::Location location, const measurement::trace::Record& record) {
    if (record.kind != measurement::trace::RecordKind::call) return;
    for (const measurement::trace::Operation& operation : record.operations) {
      if (operation.kind != measurement::trace::OperationKind::iteration) continue;
      marks[location].push_back({.ns = record.enter_ns, .number = operation.bytes});
      around = around_both(shape, around == database::kNone ? record.node : around, record.node);
    }
  }

  /// In the order of the lines. `shared`: the first line's, where another has none: of one process's threads.
  [[nodiscard]] std::vector<std::vector<waits::IterationMark>> of(const std::vector<waits::TimeLine>& lines,
                                                                  bool shared) const {
    std::vector<std::vector<waits::IterationMark>> ordered;
    for (const waits::TimeLine& line : lines) {
      auto found = marks.find(line.location);
      if (found == marks.end() && shared) found = marks.find(waits::Location{0});
      ordered.push_back(found == marks.end() ? std::vector<waits::IterationMark>{} : found->second);
    }
    return ordered;
  }
};

/// One run of all analyses over what was read.
class Analyses {
 public:
  Analyses(exchange::Communicator& comm, const Partition& partition, TimeLines& lines, const Shape& shape,
           std::span<const database::Location> locations, const Options& options)
      : comm_(comm),
        shape_(shape),
        rank_map_(comm, lines.processes),
        threads_(threads_of(comm, rank_map_, locations, lines.of_threads)),
        tables_(comm, shape, threads_),
        values_(partition, threads_),
        traffic_(rank_map_, lines.processes),
        read_(waits::read_in_causal_order(
            comm, rank_map_, lines.processes,
            [this](waits::Location location, const auto& record) {
              marks_.observe(shape_, location, record);
              traffic_.observe(location, record);
            },
            {.spill = {.directory = place_for_spills(options),
                       .memory = waits::usual_memory(exchange::ranks_with(comm, exchange::this_machine()))}},
            [this] {
              marks_ = {};
              traffic_.clear();
            })),
        matched_(read_.matched),
        of_threads_(lines.of_threads),
        hotspot_threshold_(options.hotspot_threshold) {
    if (of_threads_) name_thread_waits(shape, read_.matched);
    found_.stopped = comm.all_sum(lines.stopped + lines.broken_off->size());
    clock_error_ns_ = lines.clock_error_ns;
  }

  /// The same calls on all ranks.
  TimeLineFindings run() {
    TimeLineFindings findings;
    count();
    find_causes();
    findings.waits = find_waits();
    findings.of_threads = of_threads_;
    if (!of_threads_) findings.communication = find_communication();
    waits::TimeMap map = waits::time_map(comm_, rank_map_, matched_,
                                         [this](ContextId context) { return call_scope(shape_, context); });
    find_critical_path(map);
    find_variations(map);
    found_.time_map = gather_time_map(comm_, map);
    findings.values = values_.take(comm_);
    findings.trace = std::move(found_);
    findings.threads = {threads_.begin(), threads_.end()};
    findings.clock_error_ns = clock_error_ns_;
    findings.clock_violations = comm_.all_sum(read_.violations);
    findings.clock_violations_left = comm_.all_sum(read_.left);
    findings.short_thread_waits_ns = comm_.all_sum(matched_.store.short_thread_waits_ns);
    findings.hotspot_threshold = hotspot_threshold_;
    findings.varied = std::move(varied_);
    return findings;
  }

 private:
  void count() {
    std::uint64_t own = 0;
    for (const waits::TimeLine& line : matched_.store.lines()) {
      if (rank_map_.location_of(rank_map_.rank_of(line.location), 0) == line.location) ++own;
    }
    found_.traced = comm_.all_sum(own);
    const waits::Unmatched& unmatched = matched_.unmatched();
    const auto sum = [this](std::uint64_t value) { return comm_.all_sum(value); };
    found_.unmatched = {.sends = sum(unmatched.sends),
                        .receives = sum(unmatched.receives),
                        .probes = sum(unmatched.probes),
                        .collectives = sum(unmatched.collectives),
                        .fences = sum(unmatched.fences),
                        .epochs = sum(unmatched.epochs),
                        .locks = sum(unmatched.locks),
                        .completions = sum(unmatched.completions),
                        .strangers = sum(unmatched.strangers)};
    const std::set<std::int32_t>& own_ranks = matched_.store.unmatched_ranks;
    const std::vector<std::int32_t> own_list(own_ranks.begin(), own_ranks.end());
    std::vector<std::int32_t>& ranks = found_.unmatched_ranks;
    ranks = exchange::items_at_root<std::int32_t>(comm_, own_list);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  }

  std::vector<Wait> find_waits() {
    for (const waits::WaitSum& sum : matched_.wait_sums) {
      const ContextId context = call_scope(shape_, sum.context);
      values_.add_wait(sum.location, context, sum.pattern, sum.ns);
      if (metrics::is_whole_wait(sum.pattern))
        values_.add_direct(sum.location, context, sum.ns - sum.indirect_ns, sum.indirect_ns);
    }
    return tables_.waits(matched_.wait_sums);
  }

  database::Communication find_communication() {
    const std::vector<waits::CallSum> calls = traffic_.calls();
    for (const waits::CallSum& sum : calls) {
      values_.add_calls(sum.location, call_scope(shape_, sum.context), sum.calls, sum.sent, sum.received);
    }
    return gather_communication(comm_, shape_, threads_, calls, traffic_.partners(*matched_.contexts));
  }

  /// Also which waits are indirect.
  void find_causes() {
    const std::vector<ContextId> procedures = enclosing_procedures(shape_);
    const waits::ProcedureChains chains(compared_paths(shape_));
    waits::HotspotDiagnosis hotspots(matched_, procedures, chains);
    waits::IndirectWaits indirect;
    const waits::DelayCosts costs = waits::delay_costs(comm_, rank_map_, matched_,
                                                       {.observer =
                                                            [&](const waits::ComparedWait& wait) {
                                                              hotspots.add(wait);
                                                              indirect.add(wait);
                                                            },
                                                        .chains = &chains});
    indirect.set(read_.matched.wait_sums);
    found_.hotspots = tables_.hotspots(hotspots.find(comm_, hotspot_threshold_));
    for (const waits::DelayCost& cost : costs.costs) {
      values_.add_cost(cost.location, scope_of(shape_, cost.path).context, cost.short_term_ns,
                       cost.long_term_ns);
    }
    found_.causes = tables_.causes(costs.costs);
    found_.unattributed_ns = comm_.all_sum(costs.unattributed_ns);
    found_.direct_ns = comm_.all_sum(costs.direct_ns);
    found_.indirect_ns = comm_.all_sum(costs.indirect_ns);
  }

  void find_critical_path(waits::TimeMap& map) {
    const waits::CriticalPath path = waits::critical_path(comm_, rank_map_, matched_);
    std::vector<waits::MarkedTime> marked;
    for (const waits::CriticalVisit& visit : path.visits) {
      const std::int32_t rank = rank_map_.rank_of(visit.location);
      if (rank_map_.location_of(rank, 0) == visit.location)
        marked.push_back({.rank = rank, .begin_ns = visit.begin_ns, .end_ns = visit.end_ns});
    }
    waits::mark_critical(map, marked);
    for (const waits::CriticalTime& time : path.times)
      values_.add_critical(time.location, scope_of(shape_, time.path).context, time.ns);
    found_.critical_begin_ns = path.begin_ns;
    found_.critical_end_ns = path.end_ns;
    found_.critical_calls_ns = path.calls_ns;
    found_.critical = tables_.critical_path(path, matched_.own_times, found_.traced);
    const waits::Efficiency efficiency = waits::efficiency(comm_, map, path);
    found_.parallel = efficiency.parallel;
    found_.load_balance = efficiency.load_balance;
    found_.communication = efficiency.communication;
    found_.serialization = efficiency.serialization;
    found_.transfer = efficiency.transfer;
    found_.run_ns = efficiency.run_ns;
  }

  /// The events that the time lines have readings of.
  void find_read_events() {
    std::vector<std::uint64_t> readings(shape_.columns.events.size(), 0);
    for (const waits::TimeLine& line : matched_.store.lines()) {
      line.readings.for_each([&](const waits::Reading& reading) {
        if (reading.event < readings.size()) ++readings[reading.event];
      });
    }
    for (std::uint32_t event = 0; event < readings.size(); ++event) {
      if (comm_.all_sum(readings[event]) == 0) continue;
      read_events_.push_back(event);
      found_.metrics.push_back(static_cast<std::uint32_t>(Columns::kFirstEvent) + event);
    }
  }

  /// With what those events counted in the segments.
  database::Variation table_of(const waits::Variation& level, ContextId around_marks) {
    waits::SegmentValues values;
    if (!read_events_.empty())
      values = waits::segment_values(rank_map_, matched_, level, shape_.columns.events.size());
    for (auto& row : values) {
      std::vector<waits::RowValues> kept;
      kept.reserve(read_events_.size());
      for (const std::uint32_t event : read_events_) kept.push_back(std::move(row[event]));
      row = std::move(kept);
    }
    return tables_.variation(level, around_marks, values, read_events_.size());
  }

  /// Of threads, what starts them recurs with their waits, and takes most time: where regions have stamps,
  /// only these are looked at.
  void keep_stamped(waits::CallPaths& paths) {
    std::vector<std::uint32_t> own;
    for (const waits::TimeLine& line : matched_.store.lines()) {
      line.stamped.for_each(
          [&](const waits::StampedInvocation& one) { own.push_back(paths.procedure[one.context]); });
    }
    std::ranges::sort(own);
    own.erase(std::unique(own.begin(), own.end()), own.end());
    const std::vector<std::uint32_t> all = exchange::items_of_all<std::uint32_t>(comm_, own);
    if (all.empty()) return;
    for (std::uint32_t& procedure : paths.procedure) {
      if (std::ranges::find(all, procedure) == all.end()) procedure = waits::CallPaths::kNone;
    }
  }

  /// Marked iterations are the coarsest level; procedures follow. The bins of `map` get the segments of the
  /// coarsest one that lie in them.
  void find_variations(waits::TimeMap& map) {
    find_read_events();
    waits::CallPaths paths = call_paths(shape_);
    if (of_threads_) keep_stamped(paths);
    const waits::ProcedureSums sums(comm_, rank_map_, matched_, paths);
    const auto marks = marks_.of(matched_.store.lines(), of_threads_);
    waits::Variation level = waits::variation(comm_, rank_map_, matched_, sums, {.marks = marks});
    waits::find_segments(map, level);
    if (level.marked) found_.variations.push_back(table_of(level, marks_.around));
    for (const std::uint32_t procedure : sums.levels(kLevels)) {
      if (level.procedure != procedure) {
        level =
            waits::variation(comm_, rank_map_, matched_, sums, {.procedure = procedure}, std::move(level));
      }
      found_.variations.push_back(table_of(level, database::kNone));
    }
    if (shape_.segments.empty()) return;
    const waits::CallPaths all = call_paths(shape_, true);
    const waits::ProcedureSums sums_of_all(comm_, rank_map_, matched_, all);
    for (const Shape::Chosen& chosen : shape_.segments) add_chosen(sums_of_all, chosen);
  }

  /// Of a procedure that the user named, unless that is a level.
  void add_chosen(const waits::ProcedureSums& sums, const Shape::Chosen& chosen) {
    const waits::Variation found =
        waits::variation(comm_, rank_map_, matched_, sums, {.procedure = chosen.procedure});
    std::uint64_t segments = 0;
    for (const std::vector<waits::Segment>& row : found.rows) segments += row.size();
    if (comm_.all_sum(segments) == 0) return;
    varied_.insert(chosen.name);
    database::Variation table = table_of(found, database::kNone);
    table.chosen = true;
    const auto same = [&table](const database::Variation& one) {
      return !one.marked && one.context == table.context;
    };
    if (std::ranges::none_of(found_.variations, same)) found_.variations.push_back(std::move(table));
  }

  exchange::Communicator& comm_;
  const Shape& shape_;
  waits::RankMap rank_map_;
  std::vector<std::uint32_t> threads_;
  TraceTables tables_;
  TraceValueCollector values_;
  Marks marks_;
  waits::Traffic traffic_;
  waits::CausallyMatched read_;
  const waits::Matched& matched_;
  bool of_threads_;
  double hotspot_threshold_;
  database::TraceAnalyses found_;
  std::uint64_t clock_error_ns_ = 0;
  std::set<std::uint32_t> varied_;
  std::vector<std::uint32_t> read_events_;  // by their places in the columns
};

}  // namespace

TimeLineFindings analyse_time_lines(exchange::Communicator& comm, const Partition& partition,
                                    TimeLines& lines, const Shape& shape,
                                    std::span<const database::Location> locations, const Options& options) {
  if (comm.all_sum(lines.processes.size()) == 0) return {};
  return Analyses(comm, partition, lines, shape, locations, options).run();
}

bool TimeLineFindings::adopt_into(Experiment& experiment, std::size_t locations) && {
  if (!database::is_sound(trace, locations, experiment.contexts.size(), experiment.metrics.size()))
    return false;
  if (!database::is_sound(communication, locations, experiment.contexts.size())) return false;
  if (trace.traced == 0) return true;
  experiment.communication = std::move(communication);
  experiment.trace = std::move(trace);
  experiment.quality.clock_error_ns = clock_error_ns;
  experiment.quality.clock_violations += clock_violations;
  experiment.quality.clock_violations_left += clock_violations_left;
  replace_approximations(experiment.waits, std::move(waits), threads);
  if (std::string note = note_short_waits(short_thread_waits_ns, experiment.trace); !note.empty())
    experiment.run.notes.push_back(std::move(note));
  if (std::string note = note_threshold(hotspot_threshold); !note.empty())
    experiment.run.notes.push_back(std::move(note));
  return true;
}

}  // namespace culprit::merge
