// One thread's calling context tree in a mapped arena, written by its signal handler (docs/algorithms.md 13).
// A node's children form a binary search tree by a scrambled key, insert-only, whose links are stored after
// what they point to, so the file holds a tree at any moment. A cache of recent nodes finds most children in
// one comparison. Every change adds to the thread's sum (thread_sum.hpp) what it adds to the nodes and
// values. Nothing allocates or locks.
#include "measurement/thread_tree.hpp"

#include "measurement/thread_sum.hpp"

namespace culprit::measurement {

using layout::Node;
using layout::ThreadHeader;

namespace {

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
                       const TreeShape& shape) noexcept {
  if (const int error = arena_.create(file, index, first_block, shape.bytes); error != 0) return error;
  index_ = index;
  has_realtime_ = shape.has_realtime;
  event_count_ = static_cast<std::uint32_t>(shape.events);
  cell_units_ = layout::cell_units(shape.events);
  return 0;
}

void ThreadTree::start(std::uint64_t tid, std::uint32_t ordinal, bool main, cct::FrameKey routine,
                       std::uint64_t start_ns) noexcept {
  ThreadHeader& head = *arena_.header();
  arena_.begin_change();
  life_.begin(tid, ordinal, main, routine, start_ns);
  head.used = layout::kRootUnit + 1;
  Node& top = *node(layout::kRootUnit);
  top.place = layout::place_of(cct::FrameKey{});
  arena_.end_change(layout::thread_header_sum(head));
  for (const auto kind :
       {cct::FrameKind::program_root, cct::FrameKind::thread_root, cct::FrameKind::partial}) {
    child(layout::kRootUnit, {.kind = kind});
  }
  // Cells of the fixed nodes exist from the start: whatever the arena lacks later, an ancestor can be
  // charged.
  for (NodeIndex i = layout::kRootUnit; i < layout::kFirstFreeUnit; ++i) {
    arena_.begin_change();
    const std::uint32_t used = head.used;
    make_cell(i);
    arena_.end_change(arena_.growth_since(used));
  }
  life_.open();
}

void ThreadTree::release() noexcept {
  life_.forget();
  arena_.release();
}

NodeIndex ThreadTree::find_child(NodeIndex parent, std::uint64_t offset, std::uint32_t place) noexcept {
  if (arena_.overflowed()) return parent;
  if (parent < layout::kRootUnit) parent = layout::kRootUnit;
  const std::uint64_t rank = scramble(offset, place);
  std::uint32_t* link = &node(parent)->first_child;
  while (const NodeIndex at = *link) {
    Node& there = *node(at);
    if (there.offset == offset && there.place == place) return at;
    link = &side(there, rank, offset, place);
  }
  arena_.begin_change();
  const std::uint32_t used = arena_.header()->used;
  const NodeIndex fresh = arena_.allocate(1);
  if (fresh == kNoNodeIndex) {
    arena_.end_change(0);
    arena_.note_overflow();
    return parent;
  }
  Node& added = *node(fresh);
  added.offset = offset;
  added.place = place;
  added.parent = parent;
  publish(*link, fresh);
  arena_.end_change(layout::node_sum(fresh, added) + arena_.growth_since(used));
  return fresh;
}

NodeIndex ThreadTree::make_cell(NodeIndex index) noexcept {
  const NodeIndex at = arena_.allocate(cell_units_);
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
  const bool overflowed = arena_.take_overflow();
  if (charged_elsewhere || overflowed) sum += arena_.count(arena_.header()->full, 1);
  if (handler_run) sum += arena_.count(arena_.header()->samples, 1);
  return sum;
}

void ThreadTree::record(NodeIndex index, const SampleValues& values) noexcept {
  life_.end_wait();
  arena_.begin_change();
  const std::uint32_t used = arena_.header()->used;
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
  std::uint64_t counted = arena_.growth_since(used);
  if (cell.stretch == 0) {
    std::atomic_ref(cell.stretch).store(added.stretch = values.stretch, std::memory_order_relaxed);
  } else if (cell.stretch != values.stretch) [[unlikely]] {
    counted += accumulators_.count_apart(index, values.stretch, values.time_ns, added.weight_sq);
  }
  counted += count_samples(elsewhere, true);
  arena_.end_change(layout::cell_sum(at, added) + counted);
}

void ThreadTree::record_event(NodeIndex index, std::size_t event, std::uint64_t value) noexcept {
  if (event >= event_count_) return;
  arena_.begin_change();
  const std::uint32_t used = arena_.header()->used;
  bool elsewhere = false;
  const NodeIndex at = cell_of(index, elsewhere);
  auto& slot = reinterpret_cast<layout::CellEvent*>(arena_.at<layout::Cell>(at) + 1)[event];
  add(slot.value, value);
  add(slot.samples, 1);
  const std::uint64_t counted = count_samples(elsewhere, !has_realtime_);
  arena_.end_change(layout::event_sum(at, event, {.value = value, .samples = 1}) + counted +
                    arena_.growth_since(used));
}

void ThreadTree::add_cpu_time(NodeIndex index, std::uint64_t ns) noexcept {
  arena_.begin_change();
  const std::uint32_t used = arena_.header()->used;
  bool elsewhere = false;
  const NodeIndex at = cell_of(index, elsewhere);
  layout::Cell added = {};
  add(arena_.at<layout::Cell>(at)->cpu_ns, added.cpu_ns = ns);
  arena_.end_change(layout::cell_sum(at, added) + arena_.growth_since(used));
}

void ThreadCounters::count_partial(std::uint64_t time_ns) noexcept {
  arena_.begin_change();
  const std::uint64_t sum =
      arena_.count(arena_.header()->partial, 1) + arena_.count(arena_.header()->partial_ns, time_ns);
  arena_.end_change(sum);
}

void ThreadCounters::count_bridged() noexcept {
  arena_.begin_change();
  arena_.end_change(arena_.count(arena_.header()->bridged, 1));
}

void ThreadCounters::add_handler_time(std::uint64_t ns) noexcept {
  arena_.begin_change();
  arena_.end_change(arena_.count(arena_.header()->handler_ns, ns));
}

void ThreadCounters::count_halving(std::uint64_t times) noexcept {
  arena_.begin_change();
  std::uint64_t sum = arena_.count(arena_.header()->halvings, 1);
  std::uint64_t& most = arena_.header()->most_halvings;
  if (times > peek(most)) sum += arena_.count(most, times - most);
  arena_.end_change(sum);
}

}  // namespace culprit::measurement
