#include "merge/accumulate.hpp"

#include <algorithm>

namespace culprit::merge {

using database::ContextId;
using measurement::Cell;
using measurement::WaitKind;

namespace {

constexpr std::uint32_t bit_of(WaitKind kind) {
  return std::uint32_t{1} << static_cast<unsigned>(kind);
}

void add_row(std::uint64_t* into, const std::uint64_t* from, std::size_t width) {
  for (std::size_t c = 0; c < width; ++c) into[c] += from[c];
}

/// Accumulates one thread's rows. A thread observes a metric where its value is not zero.
void accumulate_rows(std::vector<metrics::Accumulator>& sums, const SparseRows& rows, std::size_t metrics) {
  rows.ascending([&](std::size_t scope) {
    const std::uint64_t* values = rows[scope];
    metrics::Accumulator* row = &sums[scope * metrics];
    for (std::size_t m = 0; m < metrics; ++m) {
      if (values[m] != 0) row[m].accumulate(values[m]);
    }
  });
}

}  // namespace

ThreadAccumulation::ThreadAccumulation(const Shape& shape, std::size_t roles)
    : shape_(shape),
      flat_targets_(shape),
      exclusive_targets_(exclusive_contexts(shape)),
      own_(shape.contexts.size(), shape.columns.all()),
      exclusive_(shape.contexts.size(), shape.columns.metrics()),
      inclusive_(shape.contexts.size(), shape.columns.all()),
      flat_exclusive_(shape.flat.size(), shape.columns.metrics()),
      flat_inclusive_(shape.flat.size(), shape.columns.metrics()),
      roles_(roles) {}

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
  if (marked != 0 || (marked_kinds_ & bit_of(scope.wait)) != 0) return marked;
  return scope.idle_by_name != 0 ? cell.time_ns : 0;
}

void ThreadAccumulation::record(const measurement::ThreadProfile& thread,
                                std::span<const cct::NodeId> united) {
  const std::size_t events = event_columns_.size();
  for (std::size_t node = 0; node < thread.cell.size(); ++node) {
    const std::uint32_t index = thread.cell[node];
    if (index == cct::kNoNode) continue;
    const Cell& cell = thread.cells[index];
    std::size_t known = node;
    while (united[known] >= shape_.own.size()) known = thread.nodes[known].parent;
    const ContextId x = shape_.own[united[known]];
    std::uint64_t* row = own_.touch(x);
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

void ThreadAccumulation::list_profile() {
  std::vector<database::Value>& values = profiles_.emplace_back();
  own_.ascending([&](std::size_t x) {
    const std::uint64_t* row = own_[x];
    for (std::size_t m = 0; m < shape_.columns.metrics(); ++m) {
      if (row[m] == 0) continue;
      values.push_back(
          {.index = static_cast<ContextId>(x), .metric = static_cast<std::uint32_t>(m), .value = row[m]});
    }
  });
  values.shrink_to_fit();
}

void ThreadAccumulation::spread_exclusive() {
  const std::size_t metrics = shape_.columns.metrics();
  own_.ascending([&](std::size_t x) {
    const std::uint64_t* row = own_[x];
    for (const std::uint32_t target : exclusive_targets_[x]) add_row(exclusive_.touch(target), row, metrics);
    for (const std::uint32_t target : flat_targets_.exclusive(static_cast<ContextId>(x))) {
      add_row(flat_exclusive_.touch(target), row, metrics);
    }
  });
}

void ThreadAccumulation::sum_inclusive() {
  const std::size_t all = shape_.columns.all();
  const std::size_t metrics = shape_.columns.metrics();
  own_.ascending([&](std::size_t x) { add_row(inclusive_.touch(x), own_[x], all); });
  // Pre-order: a context comes after its parent, so going backwards every row is complete when it is reached.
  inclusive_.descending([&](std::size_t x) {
    const ContextId parent = shape_.contexts[x].parent;
    if (parent != database::kNone) add_row(inclusive_.touch(parent), inclusive_[x], all);
    for (const std::uint32_t target : flat_targets_.inclusive(static_cast<ContextId>(x))) {
      add_row(flat_inclusive_.touch(target), inclusive_[x], metrics);
    }
  });
}

/// The outermost wait or communication frame around a context; kNone where there is none.
ContextId ThreadAccumulation::frontier_of(ContextId context) const {
  if (shape_.contexts[context].wait == WaitKind::none) return database::kNone;
  while (true) {
    const ContextId parent = shape_.contexts[context].parent;
    if (parent == database::kNone || shape_.contexts[parent].wait == WaitKind::none) return context;
    context = parent;
  }
}

// After sum_inclusive().
void ThreadAccumulation::list_epochs(const measurement::ThreadProfile& thread,
                                     std::span<const cct::NodeId> united, std::uint32_t location) {
  for (const measurement::Epoch& epoch : thread.epochs) {
    std::size_t known = epoch.node;
    while (united[known] >= shape_.own.size()) known = thread.nodes[known].parent;
    const ContextId frame = frontier_of(shape_.own[united[known]]);
    if (frame == database::kNone) continue;
    epochs_.push_back({.location = location,
                       .context = frame,
                       .size_class = epoch.size_class,
                       .kind = epoch.kind,
                       .window = epoch.window,
                       .peers = epoch.peers,
                       .count = epoch.count,
                       .total_ns = epoch.total_ns,
                       .least_ns = epoch.least_ns,
                       .idle_ns = inclusive_[frame][Columns::kIdleness]});
  }
}

void ThreadAccumulation::list_thread_waits(std::uint32_t location) {
  inclusive_.ascending([&](std::size_t x) {
    const auto context = static_cast<ContextId>(x);
    const WaitKind kind = shape_.contexts[x].wait;
    const std::uint64_t idle = inclusive_[x][Columns::kIdleness];
    if (kind == WaitKind::none || kind == WaitKind::mpi || idle == 0 || frontier_of(context) != context)
      return;
    epochs_.push_back({.location = location, .context = context, .thread_wait = kind, .idle_ns = idle});
  });
}

void ThreadAccumulation::accumulate(RoleSums& role) const {
  const Columns& columns = shape_.columns;
  accumulate_rows(role.contexts.inclusive, inclusive_, columns.metrics());
  accumulate_rows(role.contexts.exclusive, exclusive_, columns.metrics());
  accumulate_rows(role.flat.inclusive, flat_inclusive_, columns.metrics());
  accumulate_rows(role.flat.exclusive, flat_exclusive_, columns.metrics());
  inclusive_.ascending([&](std::size_t x) {
    role.weight_sq[x] += inclusive_[x][columns.weight_sq()];
    role.blocked[x] += inclusive_[x][columns.blocked()];
  });
}

void ThreadAccumulation::add(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                             std::uint32_t location, std::uint32_t role_index, ContextValues& by_context) {
  RoleSums& role = roles_[role_index];
  if (!role.used()) {
    role.contexts = Sums(shape_.contexts.size() * shape_.columns.metrics());
    role.flat = Sums(shape_.flat.size() * shape_.columns.metrics());
    role.weight_sq.resize(shape_.contexts.size());
    role.blocked.resize(shape_.contexts.size());
  }
  record(thread, united);
  list_profile();
  spread_exclusive();
  sum_inclusive();
  accumulate(role);
  list_epochs(thread, united, location);
  list_thread_waits(location);
  by_context.add(location, inclusive_, shape_.columns.metrics());
  for (SparseRows* rows : {&own_, &exclusive_, &inclusive_, &flat_exclusive_, &flat_inclusive_})
    rows->clear();
}

}  // namespace culprit::merge
