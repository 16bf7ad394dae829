#include "merge/accumulate.hpp"

#include "merge/transfer_work.hpp"

#include <algorithm>

namespace culprit::merge {

using database::ContextId;
using measurement::Cell;
using measurement::WaitKind;

namespace {

constexpr std::uint32_t bit_of(WaitKind kind) {
  return std::uint32_t{1} << static_cast<unsigned>(kind);
}

/// A thread observes a metric where its value is not zero.
void accumulate_row(metrics::Accumulator* sums, const std::uint64_t* values, std::size_t metrics) {
  for (std::size_t m = 0; m < metrics; ++m) {
    if (values[m] != 0) sums[m].accumulate(values[m]);
  }
}

}  // namespace

ThreadAccumulation::ThreadAccumulation(const Shape& shape, const Plan& plan, const Transfers& transfers,
                                       std::size_t roles, const TraceValues* traced)
    : shape_(shape),
      plan_(plan),
      transfers_(transfers),
      traced_(traced),
      recorded_(plan.slots.size()),
      own_(plan.slots.size(), shape.columns.all()),
      exclusive_(plan.exclusive_rows, shape.columns.all()),
      inclusive_(plan.groups(), shape.columns.all()),
      flat_source_(plan.flat_sources, shape.columns.all()),
      flat_exclusive_(shape.flat.size(), shape.columns.all()),
      flat_inclusive_(shape.flat.size(), shape.columns.all()),
      roles_(roles) {
  for (ContextId x = 0; x < shape.contexts.size(); ++x) {
    const WaitKind kind = shape.contexts[x].wait;
    if (kind != WaitKind::none && kind != WaitKind::mpi && frontier_of(shape, x) == x)
      thread_waits_.push_back(x);
  }
}

void ThreadAccumulation::begin_process(const measurement::Measurement& file) {
  event_columns_.clear();
  const std::vector<std::string>& names = shape_.columns.events;
  for (std::size_t e = file.process.has_realtime ? 1 : 0; e < file.process.events.size(); ++e) {
    const auto found = std::ranges::lower_bound(names, file.process.events[e].name);
    event_columns_.push_back(Columns::kFirstEvent + static_cast<std::size_t>(found - names.begin()));
  }
  has_realtime_ = file.process.has_realtime;
  marked_kinds_ = 0;
  for (const measurement::ThreadProfile& thread : file.threads) {
    for (const Cell& cell : thread.cells) {
      if (cell.marked_ns != 0) marked_kinds_ |= bit_of(cell.mark);
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
    WaitKind& kind = lone_waits_[context];
    kind = std::max(kind, cell.mark);
    return marked;
  }
  // The wrappers of MPI see every call. Threads also wait in calls that are not seen, as those of the C
  // library itself, in functions that mark the rest: they are known by name.
  const bool all_marked =
      scope.wait == WaitKind::mpi && scope.unmarked == 0 && (marked_kinds_ & bit_of(scope.wait)) != 0;
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

void ThreadAccumulation::record(const measurement::ThreadProfile& thread,
                                std::span<const cct::NodeId> united) {
  const std::size_t events = event_columns_.size();
  for (std::size_t node = 0; node < thread.cell.size(); ++node) {
    const std::uint32_t index = thread.cell[node];
    if (index == cct::kNoNode) continue;
    const Cell& cell = thread.cells[index];
    const std::uint32_t slot = slot_of(thread, united, node);
    const ContextId x = plan_.slots[slot];
    recorded_.insert(slot);
    std::uint64_t* row = row_of(slot);
    const std::uint64_t idle = idle_time(cell, x);
    row[Columns::kRealtime] += cell.time_ns;
    row[Columns::kIdleness] += idle;
    if (shape_.contexts[x].wait != WaitKind::none) row[Columns::kCommunication] += cell.time_ns - idle;
    row[Columns::kCpu] += cell.cpu_ns;
    row[Columns::kSamples] += cell.samples + cell.blocked;
    row[shape_.columns.weight_sq()] += cell.weight_sq;
    row[shape_.columns.blocked()] += cell.blocked;
    for (std::size_t e = 0; e < events; ++e) {
      const measurement::EventValue& event = thread.events[index * events + e];
      row[event_columns_[e]] += event.value;
      if (!has_realtime_) row[Columns::kSamples] += event.samples;
    }
  }
}

void ThreadAccumulation::record_traced(std::uint32_t location) {
  if (traced_ == nullptr) return;
  for (const TraceValue& value : traced_->of(location)) {
    const std::size_t slot = plan_.slot_at(value.context);
    recorded_.insert(slot);
    row_of(slot)[shape_.columns.first_traced() + value.metric] += value.ns;
  }
}

void ThreadAccumulation::sum_exclusive(RoleSums& role) {
  recorded_.ascending([&](std::size_t slot) {
    const std::uint64_t* row = recorded_at(slot);
    for (const std::uint32_t target : plan_.slot_exclusive[slot]) exclusive_.add(target, row);
    if (plan_.slot_source[slot] != database::kNone) flat_source_.add(plan_.slot_source[slot], row);
  });
  flat_source_.touched().ascending([&](std::size_t source) {
    for (const std::uint32_t target : plan_.source_flat[source])
      flat_exclusive_.add(target, flat_source_[source]);
  });
  const std::size_t metrics = shape_.columns.metrics();
  exclusive_.touched().ascending(
      [&](std::size_t row) { accumulate_row(&role.exclusive[row * metrics], exclusive_[row], metrics); });
  flat_exclusive_.touched().ascending(
      [&](std::size_t f) { accumulate_row(&role.flat_exclusive[f * metrics], flat_exclusive_[f], metrics); });
}

// After sum_exclusive(), which wants what was recorded alone.
void ThreadAccumulation::sum_inclusive(RoleSums& role) {
  const std::size_t metrics = shape_.columns.metrics();
  own_.touched().ascending(
      [&](std::size_t slot) { inclusive_.add(plan_.group_of[plan_.slots[slot]], own_[slot]); });
  // A group comes after its parent, so going backwards every row is complete when it is reached.
  inclusive_.touched().descending([&](std::size_t group) {
    const std::uint64_t* row = inclusive_[group];
    const std::uint32_t parent = plan_.group_parent[group];
    if (parent != database::kNone) inclusive_.add(parent, row);
    for (const std::uint32_t target : plan_.group_flat[group]) flat_inclusive_.add(target, row);
    accumulate_row(&role.inclusive[group * metrics], row, metrics);
    role.weight_sq[group] += row[shape_.columns.weight_sq()];
    role.blocked[group] += row[shape_.columns.blocked()];
  });
  flat_inclusive_.touched().ascending(
      [&](std::size_t f) { accumulate_row(&role.flat_inclusive[f * metrics], flat_inclusive_[f], metrics); });
}

// After sum_inclusive().
void ThreadAccumulation::list_epochs(const measurement::ThreadProfile& thread,
                                     std::span<const cct::NodeId> united, std::uint32_t location) {
  for (const measurement::Epoch& epoch : thread.epochs) {
    if (measurement::is_transfer(epoch.kind) || measurement::is_transfer_stamp(epoch.kind)) continue;
    const ContextId own = context_of(shape_, thread, united, epoch.node);
    const ContextId frame = frontier_of(shape_, own);
    if (measurement::is_stamp(epoch.kind)) {  // of calls that never wait, too
      stamps_.push_back({.location = location,
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
    if (frame == database::kNone || epoch.kind == measurement::EpochKind::none) continue;
    epochs_.push_back({.location = location,
                       .context = frame,
                       .size_class = epoch.size_class,
                       .kind = epoch.kind,
                       .window = epoch.window,
                       .peers = epoch.peers,
                       .count = epoch.count,
                       .total_ns = epoch.total_ns,
                       .least_ns = epoch.least_ns,
                       .idle_ns = idleness_of(frame)});
  }
}

void ThreadAccumulation::list_thread_waits(std::uint32_t location) {
  for (const ContextId x : thread_waits_) {
    const std::uint64_t idle = idleness_of(x);
    if (idle == 0) continue;
    epochs_.push_back(
        {.location = location, .context = x, .thread_wait = shape_.contexts[x].wait, .idle_ns = idle});
  }
}

void ThreadAccumulation::add(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                             std::uint32_t location, std::uint32_t role_index) {
  for (SparseRows* rows :
       {&own_, &exclusive_, &inclusive_, &flat_source_, &flat_exclusive_, &flat_inclusive_})
    rows->clear();
  recorded_.clear();
  RoleSums& role = roles_[role_index];
  if (!role.used()) {
    const std::size_t metrics = shape_.columns.metrics();
    role.inclusive.resize(plan_.groups() * metrics);
    role.exclusive.resize(plan_.exclusive_rows * metrics);
    role.flat_inclusive.resize(shape_.flat.size() * metrics);
    role.flat_exclusive.resize(shape_.flat.size() * metrics);
    role.weight_sq.resize(plan_.groups());
    role.blocked.resize(plan_.groups());
  }
  record(thread, united);
  if (has_transfers(thread)) {
    std::vector<RecordedRow> rows;
    recorded_.ascending(
        [&](std::size_t slot) { rows.push_back({.context = plan_.slots[slot], .values = row_of(slot)}); });
    count_transfers_as_work(thread, united, shape_, transfers_, rows);
  }
  record_traced(location);
  sum_exclusive(role);
  sum_inclusive(role);
  list_epochs(thread, united, location);
  list_thread_waits(location);
}

}  // namespace culprit::merge
