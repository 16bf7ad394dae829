// From one thread's nodes to the columns that summaries are made of (docs/algorithms.md 2, 5.1). Each node's
// values go to its context's row: time, CPU time, samples, events, what time lines found. Time at a waiting
// context is divided into idleness and communication by the marks of the wrappers and the rules; large
// transfers are then counted as work (transfer_work.cpp). Cost: linear in a thread's nodes with values: 0.06
// ms per profile of 2000 frames (docs/scaling.md).
#include "merge/values/thread_values.hpp"

#include "blame/blame.hpp"
#include "merge/values/transfer_work.hpp"
#include "metrics/instructions.hpp"

#include <algorithm>

namespace culprit::merge {

using database::ContextId;
using measurement::Cell;
using measurement::EpochKind;
using measurement::WaitKind;

namespace {

constexpr std::uint32_t bit_of(WaitKind kind) {
  return std::uint32_t{1} << static_cast<unsigned>(kind);
}

/// Who waits for threads asleep uses less than one in this many ns; who looks again and again, more, even
/// where several share a processor.
constexpr std::uint64_t kAwake = 10;

/// Calls visit(epoch) for each accumulator of the kind.
template <class Visit>
void each(const measurement::ThreadProfile& thread, measurement::EpochKind kind, Visit visit) {
  for (const measurement::Epoch& epoch : thread.epochs) {
    if (epoch.kind == kind) visit(epoch);
  }
}

}  // namespace

ThreadValues::ThreadValues(const Shape& shape, const Plan& plan, const Transfers& transfers,
                           const TraceValues* traced, RunFacts& run)
    : shape_(shape),
      plan_(plan),
      transfers_(transfers),
      traced_(traced),
      counts_calls_((traced == nullptr || traced->names.empty()) && !shape.columns.traced.empty()),
      run_(run),
      own_(plan.slots.size(), shape.columns.metrics()) {
  covered_.in_gap.resize(plan.groups());
  for (std::size_t e = 0; e < shape.columns.events.size(); ++e) {
    if (metrics::counts_instructions(shape.columns.events[e])) instructions_ = Columns::kFirstEvent + e;
  }
  slots_.reserve(plan.slots.size());
  for (const ContextId x : plan.slots) {
    const bool waits = shape.contexts[x].wait != WaitKind::none;
    slots_.push_back({.group = plan.group_of[x],
                      .waits = waits,
                      .in_library = shape.contexts[x].in_thread_library != 0,
                      .io = shape.contexts[x].io != 0});
  }
}

void ThreadValues::begin_process(const measurement::Measurement& file) {
  process_.event_columns.clear();
  const std::vector<std::string>& names = shape_.columns.events;
  for (std::size_t e = file.process.has_realtime ? 1 : 0; e < file.process.events.size(); ++e) {
    const auto found = std::ranges::lower_bound(names, file.process.events[e].name);
    process_.event_columns.push_back(Columns::kFirstEvent + static_cast<std::size_t>(found - names.begin()));
  }
  process_.has_realtime = file.process.has_realtime;
  process_.open = !file.sealed;
  process_.host_load = file.process.host_load;
  process_.rank = file.process.rank.value_or(-1);
  process_.period_ns =
      process_.has_realtime && !file.process.events.empty() ? file.process.events[0].period : 0;
  process_.marked_kinds = 0;
  for (const measurement::ThreadProfile& thread : file.threads) {
    for (const Cell& cell : thread.cells) {
      if (cell.marked_ns != 0) process_.marked_kinds |= bit_of(cell.mark);
    }
  }
}

std::uint64_t ThreadValues::idle_time(const Cell& cell, ContextId context) {
  const Shape::Scope& scope = shape_.contexts[context];
  const std::uint64_t marked = std::min(cell.marked_ns, cell.time_ns);
  if (scope.never_idle != 0) return 0;
  if (scope.wait == WaitKind::none) {
    // Marked, but no frame of the path is known to wait (a partial unwind, a name that no rule has): the
    // statement itself becomes the frontier. Other contexts have others below them and cannot.
    if (marked == 0 || scope.kind != database::ContextKind::statement) return 0;
    WaitKind& kind = run_.lone_waits[context];
    kind = std::max(kind, cell.mark);
    return marked;
  }
  // The wrappers of MPI see every call. Threads also wait in calls that are not seen, as those of the C
  // library itself, in functions that mark the rest: they are known by name.
  const bool all_marked =
      scope.wait == WaitKind::mpi && scope.unmarked == 0 && (process_.marked_kinds & bit_of(scope.wait)) != 0;
  return all_marked || scope.idle_by_name == 0 ? marked : cell.time_ns;
}

/// What a file that grew between the passes holds anew is charged to the nearest ancestor that is known.
std::uint32_t ThreadValues::slot_of(const measurement::ThreadProfile& thread,
                                    std::span<const cct::NodeId> united, std::size_t node) const {
  const auto known = [&] {
    return united[node] < plan_.slot_of.size() && plan_.slot_of[united[node]] != database::kNone;
  };
  while (!known()) node = thread.nodes[node].parent;
  return plan_.slot_of[united[node]];
}

/// The nodes with values, their slots, and rows for these and for what time lines show.
void ThreadValues::find_rows(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                             std::uint32_t location) {
  // Which nodes have values nobody could predict: they are listed without a branch.
  nodes_.resize(thread.cell.size());
  std::size_t with_values = 0;
  for (std::size_t node = 0; node < thread.cell.size(); ++node) {
    nodes_[with_values] = static_cast<cct::NodeId>(node);
    with_values += thread.cell[node] != cct::kNoNode ? 1 : 0;
  }
  nodes_.resize(with_values);
  node_slots_.resize(with_values);
  for (std::size_t i = 0; i < with_values; ++i) node_slots_[i] = slot_of(thread, united, nodes_[i]);
  for (const Calibration::Unsampled& call : calibration_.unsampled())
    node_slots_.push_back(slot_of(thread, united, call.node));
  if (counts_calls_) {
    for (const CountedCalls& calls : counted_calls(thread))
      node_slots_.push_back(slot_of(thread, united, calls.node));
  }
  for (const EpochKind kind : {EpochKind::polls_in_vain, EpochKind::bytes_moved}) {
    each(thread, kind, [&](const measurement::Epoch& counted) {
      node_slots_.push_back(slot_of(thread, united, counted.node));
    });
  }
  blamed_ = shape_.columns.threaded ? blame_.of(thread) : std::span<const ThreadBlame::Value>{};
  for (const ThreadBlame::Value& value : blamed_) node_slots_.push_back(slot_of(thread, united, value.node));
  if (traced_ != nullptr) {
    for (const TraceValue& value : traced_->of(location))
      node_slots_.push_back(static_cast<std::uint32_t>(plan_.slot_at(value.context)));
  }
  own_.reset(node_slots_);
  contexts_.clear();
  for (const std::uint32_t slot : own_.numbers()) contexts_.push_back(plan_.slots[slot]);
}

void ThreadValues::record_cells(const measurement::ThreadProfile& thread, RoleSums& role) {
  const auto time = own_.column(Columns::kRealtime), idleness = own_.column(Columns::kIdleness);
  const auto communication = own_.column(Columns::kCommunication), cpu = own_.column(Columns::kCpu);
  const auto samples = own_.column(Columns::kSamples);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Cell& cell = calibration_.cells()[thread.cell[nodes_[i]]];
    const Slot& slot = slots_[node_slots_[i]];
    const std::size_t row = own_.row_of(node_slots_[i]);
    time[row] += cell.time_ns;
    cpu[row] += cell.cpu_ns;
    samples[row] += cell.samples + cell.blocked;
    role.weight_sq[slot.group] += cell.weight_sq;
    role.blocked[slot.group] += cell.blocked;
    if (!slot.waits && cell.marked_ns == 0) continue;
    const std::uint64_t idle = idle_time(cell, plan_.slots[node_slots_[i]]);
    idleness[row] += idle;
    if (slot.waits) communication[row] += cell.time_ns - idle;
  }
}

/// Calls that wait and were too short, or too seldom, for a sample.
void ThreadValues::record_unsampled(const measurement::ThreadProfile& thread,
                                    std::span<const cct::NodeId> united) {
  const auto time = own_.column(Columns::kRealtime), idleness = own_.column(Columns::kIdleness);
  const auto communication = own_.column(Columns::kCommunication);
  for (const Calibration::Unsampled& call : calibration_.unsampled()) {
    const std::uint32_t slot = slot_of(thread, united, call.node);
    const std::size_t row = own_.row_of(slot);
    const Cell cell{.time_ns = call.ns, .marked_ns = call.ns, .mark = WaitKind::mpi};
    const std::uint64_t idle = idle_time(cell, plan_.slots[slot]);
    time[row] += call.ns;
    idleness[row] += idle;
    if (slots_[slot].waits) communication[row] += call.ns - idle;
  }
}

/// Of each gap whose length is known, the weights that do not vary by sampling: a scope with the share s of
/// the gap's samples has the variance s (1 - s) of it, not s.
void ThreadValues::record_covered(const measurement::ThreadProfile& thread,
                                  std::span<const cct::NodeId> united, RoleSums& role) {
  const auto sampled = calibration_.sampled();
  for (const Calibration::Sampled& piece : sampled) {
    const std::uint32_t group = plan_.group_of[plan_.slots[slot_of(thread, united, piece.node)]];
    covered_.samples.emplace_back(piece.gap, group, piece.ns);
  }
  std::ranges::sort(covered_.samples);
  for (std::size_t i = 0; i < covered_.samples.size();) {
    const std::uint32_t gap = std::get<0>(covered_.samples[i]);
    covered_.touched.clear();
    for (; i < covered_.samples.size() && std::get<0>(covered_.samples[i]) == gap; ++i) {
      for (std::uint32_t group = std::get<1>(covered_.samples[i]); group != database::kNone;
           group = plan_.group_parent[group]) {
        if (covered_.in_gap[group] == 0) covered_.touched.push_back(group);
        covered_.in_gap[group] += std::get<2>(covered_.samples[i]);
      }
    }
    const Calibration::Gap& whole = calibration_.gaps()[gap];
    for (const std::uint32_t group : covered_.touched) {
      const double share =
          static_cast<double>(covered_.in_gap[group]) / static_cast<double>(whole.sampled_ns);
      role.covered[group] += static_cast<std::uint64_t>(blame::kCoveredUnit * share * share *
                                                        static_cast<double>(whole.weight_sq));
      covered_.in_gap[group] = 0;
    }
  }
  covered_.samples.clear();
}

void ThreadValues::record_events(const measurement::ThreadProfile& thread) {
  const std::size_t events = process_.event_columns.size();
  const auto samples = own_.column(Columns::kSamples);
  for (std::size_t e = 0; e < events; ++e) {
    const auto column = own_.column(process_.event_columns[e]);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const measurement::EventValue& event = thread.events[thread.cell[nodes_[i]] * events + e];
      column[own_.row_of(node_slots_[i])] += event.value;
      if (!process_.has_realtime) samples[own_.row_of(node_slots_[i])] += event.samples;
    }
  }
}

void ThreadValues::record_transfers(const measurement::ThreadProfile& thread,
                                    std::span<const cct::NodeId> united) {
  if (!has_transfers(thread)) return;
  std::vector<RecordedRow> rows;
  for (std::size_t row = 0; row < contexts_.size(); ++row) {
    rows.push_back({.context = contexts_[row],
                    .time = &own_.column(Columns::kRealtime)[row],
                    .idleness = &own_.column(Columns::kIdleness)[row],
                    .communication = &own_.column(Columns::kCommunication)[row]});
  }
  count_transfers_as_work(thread, united, shape_, transfers_, rows);
}

/// Time in calls of input and output, with what it waits there.
void ThreadValues::record_io() {
  if (!shape_.columns.with_io) return;
  const auto time = own_.column(Columns::kRealtime), io = own_.column(shape_.columns.io());
  const auto numbers = own_.numbers();
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (slots_[numbers[row]].io) io[row] = time[row];
  }
}

/// What the thread made others wait; and its time in OpenMP's run-time library, where that is no waiting.
void ThreadValues::record_blame(const measurement::ThreadProfile& thread,
                                std::span<const cct::NodeId> united) {
  if (!shape_.columns.threaded) return;
  const auto time = own_.column(Columns::kRealtime), idleness = own_.column(Columns::kIdleness);
  const auto overhead = own_.column(shape_.columns.of(ThreadMetric::overhead));
  const auto numbers = own_.numbers();
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (slots_[numbers[row]].in_library) overhead[row] = time[row] - std::min(time[row], idleness[row]);
  }
  for (const ThreadBlame::Value& value : blamed_)
    own_.column(shape_.columns.of(value.metric))[own_.row_of(slot_of(thread, united, value.node))] +=
        value.ns;
}

void ThreadValues::record_traced(std::uint32_t location) {
  if (traced_ == nullptr) return;
  for (const TraceValue& value : traced_->of(location)) {
    const auto slot = static_cast<std::uint32_t>(plan_.slot_at(value.context));
    own_.column(shape_.columns.first_traced() + value.metric)[own_.row_of(slot)] += value.value;
  }
}

/// The columns are call_metrics().
void ThreadValues::record_counted(const measurement::ThreadProfile& thread,
                                  std::span<const cct::NodeId> united, std::uint32_t location) {
  if (!counts_calls_ || !has_counted_calls(thread)) return;
  const std::size_t first = shape_.columns.first_traced();
  for (const CountedCalls& calls : counted_calls(thread)) {
    const std::size_t row = own_.row_of(slot_of(thread, united, calls.node));
    own_.column(first)[row] += calls.calls;
    own_.column(first + 1)[row] += calls.sent;
    own_.column(first + 2)[row] += calls.received;
  }
  add_counted_calls(run_.calls, shape_,
                    {.thread = thread,
                     .united = united,
                     .location = location,
                     .contexts = contexts_,
                     .time = own_.column(Columns::kRealtime)});
}

void ThreadValues::record_polls(const measurement::ThreadProfile& thread,
                                std::span<const cct::NodeId> united) {
  if (!shape_.columns.polled) return;  // where the file grew between the passes
  each(thread, EpochKind::polls_in_vain, [&](const measurement::Epoch& polls) {
    own_.column(shape_.columns.polls())[own_.row_of(slot_of(thread, united, polls.node))] += polls.count;
  });
}

/// What was read and written; not what MPI's messages, or setting up, read and write on their own behalf.
/// What found no room at its path is at the root.
void ThreadValues::record_bytes(const measurement::ThreadProfile& thread,
                                std::span<const cct::NodeId> united) {
  if (!shape_.columns.with_bytes) return;
  each(thread, EpochKind::bytes_moved, [&](const measurement::Epoch& moved) {
    const std::uint32_t slot = slot_of(thread, united, moved.node);
    if (moved.node != 0 && !slots_[slot].io) return;
    own_.column(shape_.columns.bytes_read())[own_.row_of(slot)] += moved.least_ns;
    own_.column(shape_.columns.bytes_written())[own_.row_of(slot)] += moved.total_ns;
  });
}

/// Of the thread whose rows these are, once they hold all but what time lines show.
void ThreadValues::list_schedule(const measurement::ThreadProfile& thread, std::uint32_t location) {
  const measurement::Schedule& schedule = thread.schedule;
  const auto cpu = own_.column(Columns::kCpu);
  if (!schedule.known()) {
    BriefThread brief{.location = location};
    for (std::size_t i = 0; i < contexts_.size(); ++i) brief.cpu_ns += cpu[i];
    run_.brief.push_back(brief);
    return;
  }
  const measurement::HostLoad& host = process_.host_load;
  database::ScheduledThread row{.location = location,
                                .online = host.online,
                                .allowed = host.allowed,
                                .voluntary = schedule.voluntary,
                                .involuntary = schedule.involuntary,
                                .ran_ns = schedule.ran_ns,
                                .runnable_ns = schedule.runnable_ns,
                                .lived_ns = thread.lived_ns,
                                .span_ns = host.span_ns,
                                .quota = host.quota,
                                .throttled_ns = host.throttled_ns,
                                .host_idle_ns = host.idle_ns,
                                .processors = schedule.processors};
  const auto time = own_.column(Columns::kRealtime), idleness = own_.column(Columns::kIdleness);
  const auto slots = own_.numbers();
  std::uint64_t waited = 0, waited_cpu = 0;  // for threads of its process
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    row.sampled_ns += time[i];
    row.idle_ns += idleness[i];
    row.cpu_ns += cpu[i];
    if (slots_[slots[i]].waits && shape_.contexts[contexts_[i]].wait != WaitKind::mpi) {
      waited += time[i];
      waited_cpu += cpu[i];
    }
    if (slots_[slots[i]].waits) continue;
    row.work_ns += time[i] - std::min(time[i], idleness[i]);
    row.work_cpu_ns += cpu[i];
    if (instructions_) row.instructions += own_.column(*instructions_)[i];
  }
  if (waited_cpu < waited / kAwake)
    row.slept_ms =
        static_cast<std::uint32_t>(std::min<std::uint64_t>((waited - waited_cpu) / 1'000'000, UINT32_MAX));
  run_.schedules.push_back(row);
}

void ThreadValues::record(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                          std::uint32_t location, RoleSums& role) {
  calibration_.calibrate(thread, process_.period_ns, process_.open);
  find_rows(thread, united, location);
  record_cells(thread, role);
  record_unsampled(thread, united);
  record_covered(thread, united, role);
  record_events(thread);
  record_transfers(thread, united);
  record_io();
  record_blame(thread, united);
  list_schedule(thread, location);
  record_traced(location);
  record_counted(thread, united, location);
  record_polls(thread, united);
  record_bytes(thread, united);
}

}  // namespace culprit::merge
