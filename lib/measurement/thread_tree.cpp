#include "measurement/live.hpp"
#include "measurement/tree_sum.hpp"

#include <bit>
#include <cerrno>
#include <utility>

// One thread's tree in its arena: a node's children form a binary search tree, insert-only, whose links are
// stored after what they point to.
namespace culprit::measurement {

using layout::Node;
using layout::ThreadHeader;

namespace {

constexpr std::uint64_t kGrowth =
    2 * layout::kGranule;  // at least; an eighth of what there is if that is more
constexpr std::uint64_t kMaxGrowth = std::uint64_t{4} << 20;

// A single writer: plain addition, but visible whole to readers of other threads.
void add(std::uint64_t& counter, std::uint64_t value) noexcept {
  const std::atomic_ref reference(counter);
  reference.store(reference.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

template <typename T>
T peek(T& field) noexcept {
  return std::atomic_ref(field).load(std::memory_order_relaxed);
}

template <typename T>
void publish(T& field, T value) noexcept {
  std::atomic_ref(field).store(value, std::memory_order_release);
}

// Spreads keys so that the search trees stay shallow for the ascending addresses that real code has.
std::uint64_t scramble(std::uint64_t offset, std::uint32_t place) noexcept {
  std::uint64_t x = (offset ^ static_cast<std::uint64_t>(place) << 40) * 0x9e3779b97f4a7c15u;
  x ^= x >> 32;
  return x * 0xd6e8feb86659fd93u;
}

// Where key belongs among the children of `node`: its left or its right link. Never called with node's own
// key.
std::uint32_t& side(Node& node, std::uint64_t rank, std::uint64_t offset, std::uint32_t place) noexcept {
  const std::uint64_t other = scramble(node.offset, node.place);
  const bool before =
      rank != other ? rank < other : (offset != node.offset ? offset < node.offset : place < node.place);
  return before ? node.left : node.right;
}

}  // namespace

int ThreadTree::create(BlockFile& file, std::uint32_t index, std::uint64_t first_block, std::uint64_t limit,
                       bool has_realtime, std::size_t event_count) noexcept {
  if (limit < first_block) limit = first_block;
  if (const int error = arena_.reserve(limit, first_block); error != 0) return error;
  const auto type = static_cast<std::uint32_t>(layout::BlockType::thread);
  if (const int error = arena_.grow(file, type, index, first_block); error != 0) {
    arena_.release();
    return error;
  }
  index_ = index;
  has_realtime_ = has_realtime;
  event_count_ = static_cast<std::uint32_t>(event_count);
  cell_units_ = layout::cell_units(event_count);
  return 0;
}

void ThreadTree::start(std::uint64_t tid, std::uint32_t ordinal, bool main, cct::FrameKey routine,
                       std::uint64_t start_ns) noexcept {
  ThreadHeader& head = *header();
  head.tid = tid;
  head.ordinal = ordinal;
  head.flags = layout::kFlagSummed | (main ? layout::kFlagMainThread : 0);
  head.start_offset = routine.offset;
  head.start_module = routine.module;
  head.start_kind = static_cast<std::uint32_t>(routine.kind);
  head.start_ns = start_ns;
  head.lives = 1;
  head.life_start_ns = start_ns;
  routine_ = routine;
  head.used = layout::kRootUnit + 1;
  Node& top = *node(layout::kRootUnit);
  top.place = layout::place_of(cct::FrameKey{});
  for (const auto kind :
       {cct::FrameKind::program_root, cct::FrameKind::thread_root, cct::FrameKind::partial}) {
    child(layout::kRootUnit, {.kind = kind});
  }
  // Cells of the fixed nodes exist from the start: whatever the arena lacks later, an ancestor can be
  // charged.
  for (NodeIndex i = layout::kRootUnit; i < layout::kFirstFreeUnit; ++i) make_cell(i);
  exists_.store(true, std::memory_order_release);
  usable_.store(true, std::memory_order_release);
}

// The tree, its counters and the first thread's start stay; the ended thread's values and the new one's add
// up.
bool ThreadTree::take_over(std::uint64_t tid, std::uint64_t start_ns) noexcept {
  bool ended = true;
  if (!ended_.compare_exchange_strong(ended, false, std::memory_order_acq_rel)) return false;
  ThreadHeader& head = *header();
  std::atomic_ref(head.tid).store(tid, std::memory_order_relaxed);
  std::atomic_ref(head.lived_ns).store(layout::lived(head, head.end_ns), std::memory_order_relaxed);
  std::atomic_ref(head.life_start_ns).store(start_ns, std::memory_order_relaxed);
  std::atomic_ref(head.lives).store(head.lives + 1, std::memory_order_relaxed);
  publish(head.end_ns, std::uint64_t{0});
  overflowed_ = false;
  usable_.store(true, std::memory_order_release);
  return true;
}

// Cells begin at even units, so that the fixed part of each is one cache line; what that leaves over serves
// the next node.
NodeIndex ThreadTree::allocate(std::uint32_t units) noexcept {
  if (units == 1 && spare_ != 0) return std::exchange(spare_, 0);
  std::uint32_t& used = header()->used;
  const std::uint32_t next = units == 1 ? used : used + (used & 1);
  const std::uint32_t at = Arena::place(next, units);
  if (at + units > arena_.limit()) return kNoNodeIndex;
  if (next != used && at == next) spare_ = used;
  std::atomic_ref(used).store(at + units, std::memory_order_relaxed);
  return at;
}

// Between the two a reader finds the count odd, whenever the process is killed: the sum is not right yet. Nor
// will it be where the count is odd before: a signal's handler jumped out of a change.
void ThreadTree::begin_change() noexcept {
  ThreadHeader& head = *header();
  std::uint32_t begun = head.changes + 1;
  if (begun % 2 == 0) {
    std::atomic_ref(head.flags).store(head.flags & ~layout::kFlagSummed, std::memory_order_relaxed);
    ++begun;
  }
  std::atomic_ref(head.changes).store(begun, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void ThreadTree::end_change(std::uint64_t added_sum) noexcept {
  ThreadHeader& head = *header();
  add(head.tree_sum, added_sum);
  publish(head.changes, head.changes + 1);
}

NodeIndex ThreadTree::find_child(NodeIndex parent, std::uint64_t offset, std::uint32_t place) noexcept {
  if (overflowed_) return parent;
  if (parent < layout::kRootUnit) parent = layout::kRootUnit;
  const std::uint64_t rank = scramble(offset, place);
  std::uint32_t* link = &node(parent)->first_child;
  while (const NodeIndex at = *link) {
    Node& there = *node(at);
    if (there.offset == offset && there.place == place) return at;
    link = &side(there, rank, offset, place);
  }
  const NodeIndex fresh = allocate(1);
  if (fresh == kNoNodeIndex) {
    overflowed_ = true;
    return parent;
  }
  begin_change();
  Node& added = *node(fresh);
  added.offset = offset;
  added.place = place;
  added.parent = parent;
  publish(*link, fresh);
  end_change(layout::node_sum(fresh, added));
  return fresh;
}

NodeIndex ThreadTree::make_cell(NodeIndex index) noexcept {
  const NodeIndex at = allocate(cell_units_);
  if (at != kNoNodeIndex) publish(node(index)->cell, at);
  return at;
}

NodeIndex ThreadTree::cell_of(NodeIndex index, bool& charged_elsewhere) noexcept {
  if (index < layout::kRootUnit) index = layout::kRootUnit;
  NodeIndex at = node(index)->cell;
  if (at == kNoNodeIndex) at = make_cell(index);
  while (at == kNoNodeIndex) {
    charged_elsewhere = true;
    index = node(index)->parent;
    at = node(index)->cell;
  }
  return at;
}

void ThreadTree::count_samples(bool charged_elsewhere, bool handler_run) noexcept {
  if (charged_elsewhere || overflowed_) add(header()->full, 1);
  overflowed_ = false;
  if (handler_run) add(header()->samples, 1);
}

void ThreadTree::record(NodeIndex index, const SampleValues& values) noexcept {
  end_wait();
  bool elsewhere = false;
  const NodeIndex at = cell_of(index, elsewhere);
  auto& cell = *arena_.at<layout::Cell>(at);
  layout::Cell added = {};
  begin_change();
  add(cell.time_ns, added.time_ns = values.time_ns);
  add(cell.cpu_ns, added.cpu_ns = values.cpu_ns);
  if (values.blocked) {
    add(cell.blocked, added.blocked = 1);
  } else {
    add(cell.samples, added.samples = 1);
    add(cell.weight_sq, added.weight_sq = values.weight * values.weight);
  }
  if (values.mark != WaitKind::none) {
    add(cell.marked_ns, added.marked_ns = values.time_ns);
    added.mark = static_cast<std::uint64_t>(values.mark) - cell.mark;
    cell.mark = static_cast<std::uint64_t>(values.mark);
  }
  end_change(layout::cell_sum(at, added));
  count_samples(elsewhere, true);
}

void ThreadTree::record_event(NodeIndex index, std::size_t event, std::uint64_t value) noexcept {
  if (event >= event_count_) return;
  bool elsewhere = false;
  const NodeIndex at = cell_of(index, elsewhere);
  auto& slot = reinterpret_cast<layout::CellEvent*>(arena_.at<layout::Cell>(at) + 1)[event];
  begin_change();
  add(slot.value, value);
  add(slot.samples, 1);
  end_change(layout::event_sum(at, event, {.value = value, .samples = 1}));
  count_samples(elsewhere, !has_realtime_);
}

// The record with this key, found or, while there are fewer than `most`, added; null where there is no room.
layout::EpochRecord* ThreadTree::epoch_record(NodeIndex node, const EpochValues& values,
                                              std::size_t most) noexcept {
  const std::uint64_t mixed =
      (values.window ^ values.peers << 17 ^ std::uint64_t{node} << 32 ^
       std::uint64_t{values.size_class} << 8 ^ static_cast<std::uint64_t>(values.kind)) *
      0x9e3779b97f4a7c15U;
  std::size_t slot = mixed >> 40;
  for (;; ++slot) {
    NodeIndex& at = epochs_[slot % kEpochSlots];
    if (at == kNoNodeIndex) break;
    auto* record = arena_.at<layout::EpochRecord>(at);
    if (record->node == node && record->kind == static_cast<std::uint32_t>(values.kind) &&
        record->size_class == values.size_class && record->window == values.window &&
        record->peers == values.peers)
      return record;
  }
  if (epoch_count_ >= most) return nullptr;
  const NodeIndex fresh = allocate(2);
  if (fresh == kNoNodeIndex) return nullptr;
  ++epoch_count_;
  auto* record = arena_.at<layout::EpochRecord>(fresh);
  *record = {.next = header()->first_epoch,
             .node = node,
             .window = values.window,
             .peers = values.peers,
             .kind = static_cast<std::uint32_t>(values.kind),
             .size_class = values.size_class,
             .count = 0,
             .total_ns = 0,
             .least_ns = values.time_ns,
             .order = 0};
  publish(header()->first_epoch, fresh);
  return arena_.at<layout::EpochRecord>(epochs_[slot % kEpochSlots] = fresh);
}

void ThreadTree::count_epoch(NodeIndex node, const EpochValues& values) noexcept {
  overflowed_ = false;
  layout::EpochRecord* record = epoch_record(node, values, kEpochAccumulators);
  if (record == nullptr && !is_transfer(values.kind)) {
    EpochValues coarse = values;
    coarse.window = coarse.peers = 0;
    record = epoch_record(node, coarse, kEpochAccumulators + kCoarseAccumulators);
  }
  if (record == nullptr) {
    std::atomic_ref(header()->epochs_lost).store(header()->epochs_lost + 1, std::memory_order_relaxed);
    return;
  }
  add(record->total_ns, values.time_ns);
  if (values.time_ns < record->least_ns)
    std::atomic_ref(record->least_ns).store(values.time_ns, std::memory_order_relaxed);
  add(record->count, 1);
}

// A record for one more stamp, marked as none; null where there is no room.
layout::EpochRecord* ThreadTree::stamp_record() noexcept {
  while (stamp_count_ == kEpochStamps && stamp_level_ < 64) thin_stamps();
  if (stamp_count_ == kEpochStamps) return nullptr;
  if (stamp_count_ < stamp_records_) return arena_.at<layout::EpochRecord>(stamps_[stamp_count_++]);
  const NodeIndex fresh = allocate(2);
  if (fresh == kNoNodeIndex) return nullptr;
  auto* record = arena_.at<layout::EpochRecord>(fresh);
  *record = {};
  record->next = header()->first_epoch;
  publish(header()->first_epoch, fresh);
  stamps_[stamp_records_++] = fresh;
  ++stamp_count_;
  return record;
}

// Lets go about half of the stamps.
void ThreadTree::thin_stamps() noexcept {
  ++stamp_level_;
  for (std::uint32_t i = 0; i < stamp_count_;) {
    auto* record = arena_.at<layout::EpochRecord>(stamps_[i]);
    if (std::countl_zero(record->order) >= static_cast<int>(stamp_level_)) {
      ++i;
      continue;
    }
    publish(record->kind, static_cast<std::uint32_t>(EpochKind::none));
    std::swap(stamps_[i], stamps_[--stamp_count_]);
  }
}

void ThreadTree::keep_stamp(NodeIndex node, const StampValues& values) noexcept {
  const auto chosen = [&] { return std::countl_zero(values.order) >= static_cast<int>(stamp_level_); };
  if (!chosen()) return;
  overflowed_ = false;
  layout::EpochRecord* record = stamp_record();
  if (record == nullptr) return;
  if (!chosen()) {  // making room took this one's turn away
    --stamp_count_;
    return;
  }
  record->node = node;
  record->size_class = values.instance;
  record->window = values.window;
  record->peers = std::uint64_t{values.members} << 32 | values.peer;
  record->order = values.order;
  record->count = values.enter_ns;
  record->total_ns = values.exit_ns;
  record->least_ns = values.last_ns;
  publish(record->kind, static_cast<std::uint32_t>(values.kind));
}

void ThreadTree::count_partial(std::uint64_t time_ns) noexcept {
  add(header()->partial, 1);
  add(header()->partial_ns, time_ns);
}

void ThreadTree::count_bridged() noexcept {
  add(header()->bridged, 1);
}

void ThreadTree::count_dropped(std::uint64_t expirations) noexcept {
  add(header()->dropped, expirations);
}

void ThreadTree::add_handler_time(std::uint64_t ns) noexcept {
  add(header()->handler_ns, ns);
}

void ThreadTree::count_halving(std::uint64_t times) noexcept {
  add(header()->halvings, 1);
  if (times > peek(header()->most_halvings))
    std::atomic_ref(header()->most_halvings).store(times, std::memory_order_relaxed);
}

void ThreadTree::begin_wait(NodeIndex index, std::uint64_t enter_ns, WaitKind mark) noexcept {
  ThreadHeader& head = *header();
  end_wait();
  waiting_ = true;
  const std::uint32_t sequence = peek(head.wait_sequence);
  std::atomic_ref(head.wait_node).store(index, std::memory_order_relaxed);
  std::atomic_ref(head.wait_mark).store(static_cast<std::uint32_t>(mark), std::memory_order_relaxed);
  std::atomic_ref(head.wait_enter_ns).store(enter_ns, std::memory_order_relaxed);
  publish(head.wait_sequence, sequence + 1);
}

void ThreadTree::end_wait() noexcept {
  if (!waiting_) return;
  waiting_ = false;
  ThreadHeader& head = *header();
  const std::uint32_t sequence = peek(head.wait_sequence);
  if ((sequence & 1) != 0) publish(head.wait_sequence, sequence + 1);
}

void ThreadTree::finish(std::uint64_t end_ns) noexcept {
  usable_.store(false, std::memory_order_release);
  end_wait();
  publish(header()->end_ns, end_ns);
  ended_.store(true, std::memory_order_release);
}

int ThreadTree::maintain(BlockFile& file) noexcept {
  if (!usable() || arena_.exhausted() || free_units() >= kLowUnits) return 0;
  const std::uint32_t limit = arena_.limit();
  std::uint64_t bytes = static_cast<std::uint64_t>(limit) * layout::kUnit / 8;
  if (bytes < kGrowth) bytes = kGrowth;
  if (bytes > kMaxGrowth) bytes = kMaxGrowth;
  const int error = arena_.grow(file, static_cast<std::uint32_t>(layout::BlockType::thread), index_, bytes);
  growth_refused_.store(error != 0, std::memory_order_relaxed);
  return arena_.exhausted() ? 0 : error;
}

void ThreadTree::release() noexcept {
  usable_.store(false, std::memory_order_release);
  ended_.store(false, std::memory_order_release);
  exists_.store(false, std::memory_order_release);
  arena_.release();
}

}  // namespace culprit::measurement
