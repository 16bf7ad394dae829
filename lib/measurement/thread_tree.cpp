// One thread's calling context tree in a mapped arena, written by its signal handler (docs/algorithms.md 13).
// A node's children form a binary search tree by a scrambled key, insert-only, whose links are stored after
// what they point to, so the file holds a tree at any moment. A cache of recent nodes finds most children in
// one comparison. Every change adds to the thread's sum (thread_sum.hpp) what it adds to the nodes and
// values. Nothing allocates or locks.
#include "measurement/thread_tree.hpp"

#include "machine/machine.hpp"
#include "measurement/thread_sum.hpp"

#include <cerrno>
#include <utility>

namespace culprit::measurement {

using layout::growth;
using layout::Node;
using layout::ThreadHeader;

namespace {

constexpr std::uint64_t kGrowth =
    2 * layout::kGranule;  // at least; an eighth of what there is if that is more
/// What is in memory of the first block of a thread beyond kPopulatedThreads: its header and some paths.
constexpr std::uint64_t kFirstPaths = 4096;
constexpr std::uint64_t kMaxGrowth = std::uint64_t{4} << 20;

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

int ThreadTree::create(BlockFile& file, std::uint32_t index, std::uint64_t first_block,
                       const TreeShape& shape, std::atomic<std::uint32_t>& ended_trees) noexcept {
  const std::uint64_t limit = shape.bytes < first_block ? first_block : shape.bytes;
  if (const int error = arena_.reserve(limit, first_block); error != 0) return error;
  const auto type = static_cast<std::uint32_t>(layout::BlockType::thread);
  const std::uint64_t present = index < kPopulatedThreads ? first_block : kFirstPaths;
  if (const int error = arena_.grow(file, type, index, first_block, present); error != 0) {
    arena_.release();
    return error;
  }
  index_ = index;
  ended_trees_ = &ended_trees;
  has_realtime_ = shape.has_realtime;
  event_count_ = static_cast<std::uint32_t>(shape.events);
  cell_units_ = layout::cell_units(shape.events);
  return 0;
}

void ThreadTree::start(std::uint64_t tid, std::uint32_t ordinal, bool main, cct::FrameKey routine,
                       std::uint64_t start_ns) noexcept {
  ThreadHeader& head = *header();
  begin_change();
  head.tid = tid;
  head.ordinal = ordinal;
  head.flags = layout::kFlagSummed | (main ? layout::kFlagMainThread : 0);
  head.start_offset = routine.offset;
  head.start_module = routine.module;
  head.start_kind = static_cast<std::uint32_t>(routine.kind);
  head.start_ns = start_ns;
  head.lives = 1;
  head.life_start_ns = start_ns;
  head.schedule = {};
  head.schedule_balance = layout::schedule_balance(head.schedule);
  routine_ = routine;
  head.used = layout::kRootUnit + 1;
  Node& top = *node(layout::kRootUnit);
  top.place = layout::place_of(cct::FrameKey{});
  end_change(layout::thread_header_sum(head));
  for (const auto kind :
       {cct::FrameKind::program_root, cct::FrameKind::thread_root, cct::FrameKind::partial}) {
    child(layout::kRootUnit, {.kind = kind});
  }
  // Cells of the fixed nodes exist from the start: whatever the arena lacks later, an ancestor can be
  // charged.
  for (NodeIndex i = layout::kRootUnit; i < layout::kFirstFreeUnit; ++i) {
    begin_change();
    const std::uint32_t used = head.used;
    make_cell(i);
    end_change(growth_since(used));
  }
  exists_.store(true, std::memory_order_release);
  usable_.store(true, std::memory_order_release);
}

// The tree, its counters and the first thread's start stay; the ended thread's values and the new one's add
// up.
bool ThreadTree::take_over(std::uint64_t tid, std::uint64_t start_ns) noexcept {
  bool ended = true;
  if (!ended_.compare_exchange_strong(ended, false, std::memory_order_acq_rel)) return false;
  ended_trees_->fetch_sub(1, std::memory_order_relaxed);
  ThreadHeader& head = *header();
  begin_change();
  const std::uint64_t sum = layout::thread_header_sum(head);
  std::atomic_ref(head.tid).store(tid, std::memory_order_relaxed);
  std::atomic_ref(head.lived_ns).store(layout::lived(head, head.end_ns), std::memory_order_relaxed);
  std::atomic_ref(head.life_start_ns).store(start_ns, std::memory_order_relaxed);
  std::atomic_ref(head.lives).store(head.lives + 1, std::memory_order_relaxed);
  publish(head.end_ns, std::uint64_t{0});
  end_change(layout::thread_header_sum(head) - sum);
  if (lock_schedule()) {
    ended_schedule_ = head.schedule;
    unlock_schedule();
  }
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

// What was allocated since this many units were used, in the sum.
std::uint64_t ThreadTree::growth_since(std::uint32_t used) const noexcept {
  const ThreadHeader& head = *header();
  return 0 - growth(head, head.used, used);
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
  begin_change();
  const std::uint32_t used = header()->used;
  const NodeIndex fresh = allocate(1);
  if (fresh == kNoNodeIndex) {
    end_change(0);
    overflowed_ = true;
    return parent;
  }
  Node& added = *node(fresh);
  added.offset = offset;
  added.place = place;
  added.parent = parent;
  publish(*link, fresh);
  end_change(layout::node_sum(fresh, added) + growth_since(used));
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

// What that adds to the sum.
std::uint64_t ThreadTree::count_samples(bool charged_elsewhere, bool handler_run) noexcept {
  std::uint64_t sum = 0;
  if (charged_elsewhere || overflowed_) sum += count(header()->full, 1);
  overflowed_ = false;
  if (handler_run) sum += count(header()->samples, 1);
  return sum;
}

// Adds to a counter of the header: returns what that adds to the sum. Within a change.
std::uint64_t ThreadTree::count(std::uint64_t& counter, std::uint64_t value) noexcept {
  const std::uint64_t sum = growth(*header(), counter, counter + value);
  add(counter, value);
  return sum;
}

void ThreadTree::record(NodeIndex index, const SampleValues& values) noexcept {
  end_wait();
  begin_change();
  const std::uint32_t used = header()->used;
  bool elsewhere = false;
  const NodeIndex at = cell_of(index, elsewhere);
  auto& cell = *arena_.at<layout::Cell>(at);
  layout::Cell added = {};
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
  std::uint64_t counted = growth_since(used);
  if (cell.stretch == 0) {
    std::atomic_ref(cell.stretch).store(added.stretch = values.stretch, std::memory_order_relaxed);
  } else if (cell.stretch != values.stretch) [[unlikely]] {
    counted += count_apart(index, values);
  }
  counted += count_samples(elsewhere, true);
  end_change(layout::cell_sum(at, added) + counted);
}

void ThreadTree::record_event(NodeIndex index, std::size_t event, std::uint64_t value) noexcept {
  if (event >= event_count_) return;
  begin_change();
  const std::uint32_t used = header()->used;
  bool elsewhere = false;
  const NodeIndex at = cell_of(index, elsewhere);
  auto& slot = reinterpret_cast<layout::CellEvent*>(arena_.at<layout::Cell>(at) + 1)[event];
  add(slot.value, value);
  add(slot.samples, 1);
  const std::uint64_t counted = count_samples(elsewhere, !has_realtime_);
  end_change(layout::event_sum(at, event, {.value = value, .samples = 1}) + counted + growth_since(used));
}

void ThreadTree::add_cpu_time(NodeIndex index, std::uint64_t ns) noexcept {
  begin_change();
  const std::uint32_t used = header()->used;
  bool elsewhere = false;
  const NodeIndex at = cell_of(index, elsewhere);
  layout::Cell added = {};
  add(arena_.at<layout::Cell>(at)->cpu_ns, added.cpu_ns = ns);
  end_change(layout::cell_sum(at, added) + growth_since(used));
}

void ThreadTree::count_partial(std::uint64_t time_ns) noexcept {
  begin_change();
  const std::uint64_t sum = count(header()->partial, 1) + count(header()->partial_ns, time_ns);
  end_change(sum);
}

void ThreadTree::count_bridged() noexcept {
  begin_change();
  end_change(count(header()->bridged, 1));
}

void ThreadTree::add_handler_time(std::uint64_t ns) noexcept {
  begin_change();
  end_change(count(header()->handler_ns, ns));
}

void ThreadTree::count_halving(std::uint64_t times) noexcept {
  begin_change();
  std::uint64_t sum = count(header()->halvings, 1);
  std::uint64_t& most = header()->most_halvings;
  if (times > peek(most)) sum += count(most, times - most);
  end_change(sum);
}

void ThreadTree::begin_wait(NodeIndex index, std::uint64_t enter_ns, WaitKind mark) noexcept {
  ThreadHeader& head = *header();
  end_wait();
  waiting_ = true;
  begin_change();
  const std::uint32_t sequence = peek(head.wait_sequence);
  std::uint64_t sum = growth(head, head.wait_node, index);
  std::atomic_ref(head.wait_node).store(index, std::memory_order_relaxed);
  sum += growth(head, head.wait_mark, static_cast<std::uint32_t>(mark));
  std::atomic_ref(head.wait_mark).store(static_cast<std::uint32_t>(mark), std::memory_order_relaxed);
  sum += growth(head, head.wait_enter_ns, enter_ns);
  std::atomic_ref(head.wait_enter_ns).store(enter_ns, std::memory_order_relaxed);
  sum += growth(head, head.wait_sequence, sequence + 1);
  publish(head.wait_sequence, sequence + 1);
  end_change(sum);
}

void ThreadTree::end_wait() noexcept {
  if (!waiting_) return;
  waiting_ = false;
  ThreadHeader& head = *header();
  const std::uint32_t sequence = peek(head.wait_sequence);
  if ((sequence & 1) == 0) return;
  begin_change();
  const std::uint64_t sum = growth(head, head.wait_sequence, sequence + 1);
  publish(head.wait_sequence, sequence + 1);
  end_change(sum);
}

// The count of changes is the lock: a reader finds it odd where a process was killed within. False where it
// is held for long: by the code that a signal's handler interrupted, which calls this to end the process.
bool ThreadTree::lock_schedule() noexcept {
  constexpr int kAttempts = 1 << 20;
  const std::atomic_ref changes(header()->schedule_changes);
  for (int i = 0; i < kAttempts; ++i) {
    std::uint32_t even = changes.load(std::memory_order_relaxed) & ~std::uint32_t{1};
    if (changes.compare_exchange_weak(even, even + 1, std::memory_order_acquire)) return true;
    machine::pause();
  }
  return false;
}

void ThreadTree::unlock_schedule() noexcept {
  std::uint32_t& changes = header()->schedule_changes;
  publish(changes, changes + 1);
}

void ThreadTree::set_schedule(std::uint64_t tid, const Schedule& schedule) noexcept {
  if (!schedule.known() || !exists() || !lock_schedule()) return;
  ThreadHeader& head = *header();
  const Schedule& before = ended_schedule_;
  // Who asked the kernel earlier may come later.
  const bool newer = before.ran_ns + schedule.ran_ns >= head.schedule.ran_ns;
  if (newer && usable() && peek(head.tid) == tid) {
    head.schedule = {.ran_ns = before.ran_ns + schedule.ran_ns,
                     .runnable_ns = before.runnable_ns + schedule.runnable_ns,
                     .voluntary = before.voluntary + schedule.voluntary,
                     .involuntary = before.involuntary + schedule.involuntary,
                     .processors = schedule.processors};
    head.schedule_balance = layout::schedule_balance(head.schedule);
  }
  unlock_schedule();
}

void ThreadTree::finish(std::uint64_t end_ns) noexcept {
  usable_.store(false, std::memory_order_release);
  end_wait();
  begin_change();
  const std::uint64_t sum = growth(*header(), header()->end_ns, end_ns);
  publish(header()->end_ns, end_ns);
  end_change(sum);
  ended_trees_->fetch_add(1, std::memory_order_relaxed);
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
