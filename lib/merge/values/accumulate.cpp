// From one thread's nodes to the columns that summaries are made of (docs/algorithms.md 2, 5.1). Each node's
// values go to its context's row: time, CPU time, samples, events, what time lines found. Time at a waiting
// context is divided into idleness and communication by the marks of the wrappers and the rules; large
// transfers are then counted as work (transfer_work.cpp). Rows of a tile's threads are summed up the tree
// together (tile_sums.cpp). One-sided accumulators and stamps are listed with the idleness of their frames.
// Cost: linear in a thread's nodes with values: 0.06 ms per profile of 2000 frames (docs/scaling.md).
#include "merge/values/accumulate.hpp"

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

/// No thread's squares are more, in ns²: those of many threads add up in 128 bits.
constexpr double kMostSquares = 1e30;

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

ThreadAccumulation::ThreadAccumulation(const Shape& shape, const Plan& plan, const Transfers& transfers,
                                       std::size_t roles, const TraceValues* traced)
    : shape_(shape),
      plan_(plan),
      transfers_(transfers),
      traced_(traced),
      counts_calls_((traced == nullptr || traced->names.empty()) && !shape.columns.traced.empty()),
      own_(plan.slots.size(), shape.columns.metrics()),
      sums_(shape, plan),
      roles_(2 * roles) {
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
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    const WaitKind kind = shape.contexts[x].wait;
    if (kind != WaitKind::none && kind != WaitKind::mpi && frontier_of(shape, x) == x)
      thread_waits_.push_back(x);
  }
}

void ThreadAccumulation::begin_process(const measurement::Measurement& file) {
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

std::uint64_t ThreadAccumulation::idle_time(const Cell& cell, ContextId context) {
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
std::uint32_t ThreadAccumulation::slot_of(const measurement::ThreadProfile& thread,
                                          std::span<const cct::NodeId> united, std::size_t node) const {
  const auto known = [&] {
    return united[node] < plan_.slot_of.size() && plan_.slot_of[united[node]] != database::kNone;
  };
  while (!known()) node = thread.nodes[node].parent;
  return plan_.slot_of[united[node]];
}

/// The nodes with values, their slots, and rows for these and for what time lines show.
void ThreadAccumulation::find_rows(const measurement::ThreadProfile& thread,
                                   std::span<const cct::NodeId> united, std::uint32_t location) {
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

void ThreadAccumulation::record(const measurement::ThreadProfile& thread, RoleSums& role) {
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
void ThreadAccumulation::record_unsampled(const measurement::ThreadProfile& thread,
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
void ThreadAccumulation::record_covered(const measurement::ThreadProfile& thread,
                                        std::span<const cct::NodeId> united, RoleSums& role) {
  const auto sampled = calibration_.sampled();
  for (const Calibration::Sampled& piece : sampled) {
    const std::uint32_t group = plan_.group_of[plan_.slots[slot_of(thread, united, piece.node)]];
    covered_.emplace_back(piece.gap, group, piece.ns);
  }
  std::ranges::sort(covered_);
  for (std::size_t i = 0; i < covered_.size();) {
    const std::uint32_t gap = std::get<0>(covered_[i]);
    touched_.clear();
    for (; i < covered_.size() && std::get<0>(covered_[i]) == gap; ++i) {
      for (std::uint32_t group = std::get<1>(covered_[i]); group != database::kNone;
           group = plan_.group_parent[group]) {
        if (in_gap_[group] == 0) touched_.push_back(group);
        in_gap_[group] += std::get<2>(covered_[i]);
      }
    }
    const Calibration::Gap& whole = calibration_.gaps()[gap];
    for (const std::uint32_t group : touched_) {
      const double share = static_cast<double>(in_gap_[group]) / static_cast<double>(whole.sampled_ns);
      role.covered[group] += static_cast<std::uint64_t>(blame::kCoveredUnit * share * share *
                                                        static_cast<double>(whole.weight_sq));
      in_gap_[group] = 0;
    }
  }
  covered_.clear();
}

void ThreadAccumulation::record_events(const measurement::ThreadProfile& thread) {
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

/// Time in calls of input and output, with what it waits there.
void ThreadAccumulation::record_io() {
  if (!shape_.columns.with_io) return;
  const auto time = own_.column(Columns::kRealtime), io = own_.column(shape_.columns.io());
  const auto numbers = own_.numbers();
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (slots_[numbers[row]].io) io[row] = time[row];
  }
}

/// What the thread made others wait; and its time in OpenMP's run-time library, where that is no waiting.
void ThreadAccumulation::record_blame(const measurement::ThreadProfile& thread,
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

void ThreadAccumulation::record_traced(std::uint32_t location) {
  if (traced_ == nullptr) return;
  for (const TraceValue& value : traced_->of(location)) {
    const auto slot = static_cast<std::uint32_t>(plan_.slot_at(value.context));
    own_.column(shape_.columns.first_traced() + value.metric)[own_.row_of(slot)] += value.value;
  }
}

/// The columns are call_metrics().
void ThreadAccumulation::record_counted(const measurement::ThreadProfile& thread,
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

void ThreadAccumulation::record_polls(const measurement::ThreadProfile& thread,
                                      std::span<const cct::NodeId> united) {
  if (!shape_.columns.polled) return;  // where the file grew between the passes
  each(thread, EpochKind::polls_in_vain, [&](const measurement::Epoch& polls) {
    own_.column(shape_.columns.polls())[own_.row_of(slot_of(thread, united, polls.node))] += polls.count;
  });
}

/// What was read and written; not what MPI's messages, or setting up, read and write on their own behalf.
/// What found no room at its path is at the root.
void ThreadAccumulation::record_bytes(const measurement::ThreadProfile& thread,
                                      std::span<const cct::NodeId> united) {
  if (!shape_.columns.with_bytes) return;
  each(thread, EpochKind::bytes_moved, [&](const measurement::Epoch& moved) {
    const std::uint32_t slot = slot_of(thread, united, moved.node);
    if (moved.node != 0 && !slots_[slot].io) return;
    own_.column(shape_.columns.bytes_read())[own_.row_of(slot)] += moved.least_ns;
    own_.column(shape_.columns.bytes_written())[own_.row_of(slot)] += moved.total_ns;
  });
}

void ThreadAccumulation::list_epochs(const measurement::ThreadProfile& thread,
                                     std::span<const cct::NodeId> united, std::uint32_t location) {
  for (const measurement::Epoch& epoch : thread.epochs) {
    if (measurement::is_transfer(epoch.kind) || measurement::is_transfer_stamp(epoch.kind)) continue;
    if (epoch.kind == EpochKind::trace_cost) run_.tracing_ns += epoch.total_ns;
    if (epoch.kind == EpochKind::partner_count && process_.rank >= 0 &&
        epoch.size_class <= static_cast<std::uint32_t>(INT32_MAX)) {
      run_.partners.push_back({.communicator = epoch.window,
                               .members = static_cast<std::uint32_t>(epoch.peers),
                               .from = process_.rank,
                               .to = static_cast<std::int32_t>(epoch.size_class),
                               .messages = epoch.count,
                               .bytes = epoch.total_ns});
    }
    if (measurement::is_stretch(epoch.kind) || epoch.kind >= EpochKind::call_count)
      continue;  // of all MPI calls, or of threads (thread_blame.hpp)
    const ContextId own = context_of(shape_, thread, united, epoch.node);
    const ContextId frame = frontier_of(shape_, own);
    if (measurement::is_stamp(epoch.kind)) {  // of calls that never wait, too
      run_.stamps.push_back({.location = location,
                             .context = frame == database::kNone ? own : frame,
                             .kind = epoch.kind,
                             .instance = epoch.size_class,
                             .members = static_cast<std::uint32_t>(epoch.peers >> 32),
                             .peer = static_cast<std::int32_t>(epoch.peers & 0x7fffffff),
                             .window = epoch.window,
                             .enter_ns = epoch.count,
                             .exit_ns = epoch.total_ns,
                             .last_ns = epoch.least_ns});
      continue;
    }
    if (frame == database::kNone || epoch.kind == EpochKind::none) continue;
    tile_epochs_.push_back({.location = location,
                            .context = frame,
                            .size_class = epoch.size_class,
                            .kind = epoch.kind,
                            .window = epoch.window,
                            .peers = epoch.peers,
                            .count = epoch.count,
                            .total_ns = epoch.total_ns,
                            .least_ns = epoch.least_ns});
  }
}

/// How long the thread's gaps were, by the calls around them.
void ThreadAccumulation::sum_gaps(const measurement::ThreadProfile& thread,
                                  std::span<const cct::NodeId> united, std::uint32_t role) {
  const auto call_at = [&](cct::NodeId node) {
    return frontier_of(shape_, context_of(shape_, thread, united, node));
  };
  const auto sums_of = [&](ContextId context, ContextId after) -> blame::GapSums& {
    const blame::GapSums none{.role = role, .context = context, .after = after};
    return run_.gaps.try_emplace(none.key(), none).first->second;
  };
  std::map<ContextId, std::uint64_t> totals;
  for (const measurement::Epoch& epoch : thread.epochs) {
    const measurement::Stretch end{epoch.size_class};
    if (epoch.kind != EpochKind::gap || !end.is_gap() || epoch.count == 0) continue;
    const ContextId context = call_at(end.after());
    if (context == database::kNone) continue;
    blame::GapSums& sums = sums_of(context, epoch.node == 0 ? database::kNone : call_at(epoch.node));
    const auto total = static_cast<double>(epoch.total_ns);
    const double squares = epoch.squares - total * total / static_cast<double>(epoch.count);
    ++sums.threads;
    sums.count += epoch.count;
    sums.total_ns += epoch.total_ns;
    sums.longest_ns = std::max(sums.longest_ns, epoch.window);
    sums.add_squares(static_cast<metrics::Uint128>(std::clamp(squares, 0.0, kMostSquares)));
    totals[context] += epoch.total_ns;
  }
  for (const auto& [context, ns] : totals) {
    blame::GapSums& all = sums_of(context, blame::GapSums::kAny);
    ++all.threads;
    all.total_ns += ns;
    all.most_ns = std::max(all.most_ns, ns);
  }
}

/// Of the thread whose rows these are, once they hold all but what time lines show.
void ThreadAccumulation::list_schedule(const measurement::ThreadProfile& thread, std::uint32_t location) {
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

RoleSums& ThreadAccumulation::role_sums(std::uint32_t number) {
  RoleSums& role = roles_[number];
  if (role.used()) return role;
  const std::size_t metrics = shape_.columns.metrics();
  role.inclusive.resize(plan_.groups() * metrics);
  role.exclusive.resize(plan_.exclusive_rows * metrics);
  role.flat_inclusive.resize(shape_.flat.size() * metrics);
  role.flat_exclusive.resize(shape_.flat.size() * metrics);
  role.weight_sq.resize(plan_.groups());
  role.covered.resize(plan_.groups());
  in_gap_.resize(plan_.groups());
  role.blocked.resize(plan_.groups());
  return role;
}

void ThreadAccumulation::add(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                             std::uint32_t location, std::uint32_t sums_number) {
  if (sums_of_.empty()) first_location_ = location;
  sums_of_.push_back(sums_number);
  calibration_.calibrate(thread, process_.period_ns, process_.open);
  find_rows(thread, united, location);
  RoleSums& sums = role_sums(sums_number);
  record(thread, sums);
  record_unsampled(thread, united);
  record_covered(thread, united, sums);
  record_events(thread);
  if (has_transfers(thread)) {
    std::vector<RecordedRow> rows;
    for (std::size_t row = 0; row < contexts_.size(); ++row) {
      rows.push_back({.context = contexts_[row],
                      .time = &own_.column(Columns::kRealtime)[row],
                      .idleness = &own_.column(Columns::kIdleness)[row],
                      .communication = &own_.column(Columns::kCommunication)[row]});
    }
    count_transfers_as_work(thread, united, shape_, transfers_, rows);
  }
  record_io();
  record_blame(thread, united);
  list_schedule(thread, location);
  record_traced(location);
  record_counted(thread, united, location);
  record_polls(thread, united);
  record_bytes(thread, united);
  list_epochs(thread, united, location);
  sum_gaps(thread, united, sums_number % static_cast<std::uint32_t>(roles_.size() / 2));
}

void ThreadAccumulation::list_exclusive(database::TileRows& rows) {
  rows.add_location();
  rows.add_rows(contexts_, own_.values());
}

/// The groups whose idleness the waits of the tile's threads show.
void ThreadAccumulation::find_watched() {
  watched_.groups.clear();
  for (const ContextId x : thread_waits_) watched_.groups.push_back(plan_.group_of[x]);
  for (const blame::EpochRow& epoch : tile_epochs_) watched_.groups.push_back(plan_.group_of[epoch.context]);
  std::ranges::sort(watched_.groups);
  const auto rest = std::unique(watched_.groups.begin(), watched_.groups.end());
  watched_.groups.erase(rest, watched_.groups.end());
}

/// Location by location: its one-sided communication, then where it waited for other threads.
void ThreadAccumulation::list_waits(std::size_t tile_locations) {
  const auto idleness = [&](ContextId context) {
    const auto found = std::ranges::lower_bound(watched_.groups, plan_.group_of[context]);
    return &watched_.idleness[static_cast<std::size_t>(found - watched_.groups.begin()) * tile_locations];
  };
  std::vector<const std::uint64_t*> thread_waits;
  for (const ContextId x : thread_waits_) thread_waits.push_back(idleness(x));
  auto epoch = tile_epochs_.begin();
  for (std::uint32_t l = 0; l < tile_locations; ++l) {
    const std::uint32_t location = first_location_ + l;
    for (; epoch != tile_epochs_.end() && epoch->location == location; ++epoch) {
      epoch->idle_ns = idleness(epoch->context)[l];
      run_.epochs.push_back(*epoch);
    }
    for (std::size_t i = 0; i < thread_waits.size(); ++i) {
      if (thread_waits[i][l] == 0) continue;
      run_.epochs.push_back({.location = location,
                             .context = thread_waits_[i],
                             .thread_wait = shape_.contexts[thread_waits_[i]].wait,
                             .idle_ns = thread_waits[i][l]});
    }
  }
}

void ThreadAccumulation::add_tile(const database::TileRows& rows) {
  find_watched();
  sums_.add(rows, sums_of_, roles_, watched_);
  list_waits(rows.locations());
  tile_epochs_.clear();
  sums_of_.clear();
}

}  // namespace culprit::merge
