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

}  // namespace

ThreadAccumulation::ThreadAccumulation(const Shape& shape, const Plan& plan, const Transfers& transfers,
                                       std::size_t roles, const TraceValues* traced)
    : shape_(shape),
      plan_(plan),
      transfers_(transfers),
      traced_(traced),
      own_(plan.slots.size(), shape.columns.all()),
      sums_(shape, plan),
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
  // Which nodes have values nobody could predict: they are listed without a branch.
  nodes_.resize(thread.cell.size());
  std::size_t with_values = 0;
  for (std::size_t node = 0; node < thread.cell.size(); ++node) {
    nodes_[with_values] = static_cast<cct::NodeId>(node);
    with_values += thread.cell[node] != cct::kNoNode ? 1 : 0;
  }
  for (const cct::NodeId node : std::span(nodes_).first(with_values)) {
    const std::uint32_t index = thread.cell[node];
    const Cell& cell = thread.cells[index];
    const std::uint32_t slot = slot_of(thread, united, node);
    const ContextId x = plan_.slots[slot];
    std::uint64_t* row = own_.touch(slot);
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
    own_.touch(slot)[shape_.columns.first_traced() + value.metric] += value.ns;
  }
}

/// What only sums are wanted of need not be summed up the tree thread by thread (summarize.cpp).
void ThreadAccumulation::sum_weights(RoleSums& role) {
  const std::size_t weight_sq = shape_.columns.weight_sq(), blocked = shape_.columns.blocked();
  own_.touched().ascending([&](std::size_t slot) {
    const std::uint64_t* row = own_[slot];
    const std::uint32_t group = plan_.group_of[plan_.slots[slot]];
    role.weight_sq[group] += row[weight_sq];
    role.blocked[group] += row[blocked];
  });
}

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

RoleSums& ThreadAccumulation::role_sums(std::uint32_t number) {
  RoleSums& role = roles_[number];
  if (role.used()) return role;
  const std::size_t metrics = shape_.columns.metrics();
  role.inclusive.resize(plan_.groups() * metrics);
  role.exclusive.resize(plan_.exclusive_rows * metrics);
  role.flat_inclusive.resize(shape_.flat.size() * metrics);
  role.flat_exclusive.resize(shape_.flat.size() * metrics);
  role.weight_sq.resize(plan_.groups());
  role.blocked.resize(plan_.groups());
  return role;
}

void ThreadAccumulation::add(const measurement::ThreadProfile& thread, std::span<const cct::NodeId> united,
                             std::uint32_t location, std::uint32_t role) {
  if (role_of_.empty()) first_location_ = location;
  role_of_.push_back(role);
  own_.clear();
  record(thread, united);
  if (has_transfers(thread)) {
    std::vector<RecordedRow> rows;
    own_.touched().ascending([&](std::size_t slot) {
      rows.push_back({.context = plan_.slots[slot], .values = own_.touch(slot)});
    });
    count_transfers_as_work(thread, united, shape_, transfers_, rows);
  }
  record_traced(location);
  sum_weights(role_sums(role));
  list_epochs(thread, united, location);
}

/// The groups whose idleness the waits of the tile's threads tell.
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
      epochs_.push_back(*epoch);
    }
    for (std::size_t i = 0; i < thread_waits.size(); ++i) {
      if (thread_waits[i][l] == 0) continue;
      epochs_.push_back({.location = location,
                         .context = thread_waits_[i],
                         .thread_wait = shape_.contexts[thread_waits_[i]].wait,
                         .idle_ns = thread_waits[i][l]});
    }
  }
}

void ThreadAccumulation::add_tile(const database::TileRows& rows) {
  find_watched();
  sums_.add(rows, role_of_, roles_, watched_);
  list_waits(rows.locations());
  tile_epochs_.clear();
  role_of_.clear();
}

}  // namespace culprit::merge
