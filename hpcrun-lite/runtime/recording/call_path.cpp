// Finds the node of the thread's tree for a walk (docs/algorithms.md 13, 14): only frames inside of the
// splice are looked up, from the outermost of them on. Frames of our own libraries vanish or give way to the
// function that they stand for; open regions are put between the frame that began them and its caller; the
// frames left out of a deep recursion become one.
#include "runtime/recording/call_path.hpp"

#include "runtime/modules/modules.hpp"
#include "runtime/recording/python_frames.hpp"
#include "runtime/recording/region_names.hpp"
#include "runtime/recording/regions.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/text.hpp"
#include "unwind/callee.hpp"

#include <algorithm>

namespace culprit::runtime {
namespace {

using cct::FrameKey;
using cct::FrameKind;
using measurement::NodeIndex;
using unwind::Frame;
using unwind::FrameOrigin;

static_assert(static_cast<int>(measurement::WaitKind::mpi) == CallMark::waiting &&
              static_cast<int>(measurement::WaitKind::lock) == CallMark::lock &&
              static_cast<int>(measurement::WaitKind::condition) == CallMark::condition &&
              static_cast<int>(measurement::WaitKind::join) == CallMark::join);

FrameKind kind_of(FrameOrigin origin) {
  switch (origin) {
    case FrameOrigin::leaf:
      return FrameKind::sample;
    case FrameOrigin::interrupted:
      return FrameKind::interrupted;
    case FrameOrigin::call:
      break;
  }
  return FrameKind::call;
}

/// The interposed function whose frame, of ours, reaches from `low` to `high` on the stack; 0 for none.
std::uintptr_t interposed_at(const InterposedFunctions& interposed, std::uint64_t low, std::uint64_t high) {
  const CulpritThread& shared = culprit_rt_thread;
  if (shared.marked_below >= low && shared.marked_below < high) return shared.call;
  for (std::uint32_t i = interposed.depth; i > 0; --i) {
    if (interposed.stack[i - 1] >= low && interposed.stack[i - 1] < high) return interposed.function[i - 1];
  }
  return 0;
}

FrameKey key_of_interposed(Thread* thread, std::uintptr_t function, FrameKind kind) {
  FunctionPlaces::Place& place = thread->function_places.of(function);
  if (place.function != function) {
    const FrameKey key = key_of_address(function, kind);
    if (key.module == cct::kNoModule) return key;
    place = {.function = function, .offset = key.offset, .module = key.module};
  }
  return {.offset = place.offset, .module = place.module, .kind = kind};
}

/// Adds a frame of ours below `parent`: it vanishes or gives way to what it stands for.
NodeIndex add_own_frame(Thread* thread, NodeIndex parent, const Frame* frames, std::size_t i,
                        std::uint64_t sp, bool innermost) {
  const std::uint64_t low = i == 0 ? sp : frames[i - 1].cfa;
  const std::uintptr_t function = interposed_at(thread->interposed, low, frames[i].cfa);
  if (function == 0) return parent;
  const FrameKind kind = innermost ? FrameKind::sample : FrameKind::call;
  return thread->tree->child(parent, key_of_interposed(thread, function, kind));
}

constexpr std::uint64_t kGapTrail = 0x6a09e667f3bcc909U;  // any number that no frame's offset is

/// Adds what stands for the frames that the walk left out, below `parent`.
[[gnu::cold]] NodeIndex add_gap(Thread* thread, NodeIndex parent, std::uint64_t trail) {
  return thread->tree->child(parent, cct::kGap, trail);
}

/// The first of a walk's frames, from i on, that are part of its path.
std::size_t past_gap(const unwind::Gap& gap, std::size_t i) {
  return gap.holds(i) ? gap.end : i;
}

[[gnu::cold]] NodeIndex add_region(Thread* thread, NodeIndex parent, const OpenRegion& region) {
  return thread->tree->child(parent,
                             {.offset = 0, .module = region_module(region.name), .kind = FrameKind::region});
}

/// The lowest stack address that is frame i's.
std::uint64_t low_of(const unwind::Walk& walk, std::size_t i, std::uint64_t sp) {
  if (i == 0) return sp;
  return walk.gap.holds(i - 1) ? walk.frames[i].sp : walk.frames[i - 1].cfa;
}

/// Adds the regions that frame i of a walk began, below `parent`: it lies in them, with all inside of it.
[[gnu::cold]] NodeIndex add_regions(Thread* thread, NodeIndex parent, const unwind::Walk& walk, std::size_t i,
                                    std::uint64_t sp) {
  const bool outermost = i + 1 == walk.depth;
  const RegionPlace place{.low = low_of(walk, i, sp),
                          .high = walk.frames[i].cfa,
                          .return_to = outermost ? 0 : walk.frames[i + 1].pc};
  std::uint32_t next = 0;
  while (const OpenRegion* region = region_at(thread->regions, place, next))
    parent = add_region(thread, parent, *region);
  return parent;
}

/// Adds the regions that the frames in a walk's gap began.
[[gnu::cold]] NodeIndex add_regions_in_gap(Thread* thread, NodeIndex parent, const unwind::Walk& walk) {
  const RegionPlace place{
      .low = walk.frames[walk.gap.begin - 1].cfa, .high = walk.frames[walk.gap.end].sp, .return_to = 0};
  std::uint32_t next = 0;
  while (const OpenRegion* region = region_at(thread->regions, place, next))
    parent = add_region(thread, parent, *region);
  return parent;
}

/// Adds the regions that were begun outside of what a partial walk reached.
[[gnu::cold]] NodeIndex add_outer_regions(Thread* thread, NodeIndex parent, const unwind::Walk& walk) {
  const Regions& regions = thread->regions;
  const RegionPlace place{.low = walk.frames[walk.depth - 1].cfa, .high = regions.stack_high, .return_to = 0};
  if (place.low < regions.stack_low) return parent;
  std::uint32_t next = 0;
  while (const OpenRegion* region = region_at(regions, place, next))
    parent = add_region(thread, parent, *region);
  return parent;
}

/// Adds the Python functions, from the one with number `next` on, that C functions from stack address `low`
/// on run, below `parent`; those of frames outside of what was walked come first.
[[gnu::cold]] NodeIndex add_python(Thread* thread, NodeIndex parent, std::uint32_t& next, std::uint64_t low) {
  const PythonFrames& python = thread->python;
  for (; next < python.depth && python.frames[next].at >= low; ++next) {
    const PythonFrame& frame = python.frames[next];
    parent = thread->tree->child(parent,
                                 {.offset = frame.line, .module = frame.module, .kind = FrameKind::region});
  }
  return parent;
}

/// Which Python function is the first inside of stack address `low`.
std::uint32_t first_python_inside(const PythonFrames& python, std::uint64_t low) {
  std::uint32_t next = 0;
  while (next < python.depth && python.frames[next].at >= low) ++next;
  return next;
}

/// The loader's entry code, from which the constructors of libraries run, has no call-frame information; a
/// walk that came as far as the stack that the kernel made has nevertheless reached the main thread's first
/// frame. (The last frame of a partial walk holds its own stack pointer.)
bool reached_entry(const Thread* thread, const unwind::Walk& walk) {
  constexpr std::uint64_t kEntryFrame = 128;  // what the entry code itself pushes
  if (!thread->main || walk.depth == 0) return false;
  const auto entry = reinterpret_cast<std::uint64_t>(process.arguments);
  const std::uint64_t sp = walk.frames[walk.depth - 1].cfa;
  return sp <= entry && entry - sp <= kEntryFrame;
}

NodeIndex root_of(const Thread* thread, bool partial) {
  if (partial) return thread->tree->partial();
  return thread->main ? thread->tree->program_root() : thread->tree->thread_root();
}

/// Once for each measurement.
[[gnu::cold]] void note_too_deep() {
  static std::atomic<std::uint64_t> noted_in{0};
  const auto id = static_cast<std::uint64_t>(process.pid);
  if (noted_in.exchange(id, std::memory_order_relaxed) == id) return;
  Text<256> line;
  line.add("some call stacks are deeper than ").number(unwind::Walker::kMaxSteps);
  line.add(" frames: samples there are partial unwinds, with their innermost frames");
  file.note(line.c_str());
}

/// Where code was loaded or unloaded, nothing that was found in it holds.
void forget_changed_modules(Thread* thread) {
  const std::uint32_t generation = module_generation();
  if (generation == thread->modules_seen) return;
  thread->walker.invalidate();
  thread->function_places.forget();
  thread->modules_seen = generation;
}

/// The innermost frame whose node is known; the walk's depth where none is. Reused frames know theirs, unless
/// the tree was full when they were met, or regions or Python functions around them changed.
std::size_t first_known(Thread* thread, const unwind::Walk& walk, const Frame* frames) {
  std::size_t known = past_gap(walk.gap, walk.fresh);
  while (known < walk.depth && frames[known].user == measurement::kNoNodeIndex)
    known = past_gap(walk.gap, known + 1);
  Regions& regions = thread->regions;
  PythonFrames& python = thread->python;
  const bool changed = regions.seen != regions.changes || python.seen != python.changes;
  regions.seen = regions.changes;
  python.seen = python.changes;
  return changed ? walk.depth : known;
}

/// As current_path, with the Python functions that are known.
[[gnu::hot]] NodeIndex walk_path(Thread* thread, const unwind::Registers& start, WalkFlaws& flaws) {
  thread->tree->prefetch();
  forget_changed_modules(thread);
  const unwind::Walk walk = thread->walker.walk(start);
  PythonFrames& python = thread->python;
  flaws.too_deep = walk.end == unwind::WalkEnd::too_deep;
  flaws.partial = flaws.too_deep || (walk.end == unwind::WalkEnd::partial && !reached_entry(thread, walk));
  flaws.bridged = walk.bridged;
  Frame* frames = thread->walker.mutable_frames();
  // The innermost frame that is not ours is where the sample is; all frames within it vanish or become
  // interposed functions.
  std::size_t innermost = 0;
  while (innermost < walk.depth && frames[innermost].own) ++innermost;
  const std::size_t known = first_known(thread, walk, frames);
  const Regions& regions = thread->regions;
  std::uint32_t next_python = python.depth;
  if (known == walk.depth) {
    next_python = 0;
  } else if (known != 0 && python.depth != 0) {
    next_python = first_python_inside(python, low_of(walk, known, start.sp));
  }
  NodeIndex node = known < walk.depth ? frames[known].user : root_of(thread, flaws.partial);
  if (regions.depth != 0 && flaws.partial && walk.depth != 0) [[unlikely]]
    node = add_outer_regions(thread, node, walk);
  bool full = false;
  std::uint64_t trail = node;  // a hash of the path so far, which needs none of its nodes
  for (std::size_t i = known; i-- > 0;) {
    if (i + 1 == walk.gap.end) [[unlikely]] {
      if (regions.depth != 0) node = add_regions_in_gap(thread, node, walk);
      next_python = std::max(next_python, first_python_inside(python, walk.frames[walk.gap.begin - 1].cfa));
      trail = (trail ^ node ^ kGapTrail) * kSpread;
      const NodeIndex parent = node;
      node = add_gap(thread, parent, trail);
      full = full || node == parent;
      i = walk.gap.begin;
      continue;
    }
    const Frame& frame = frames[i];
    if (regions.depth != 0) [[unlikely]] {
      node = add_regions(thread, node, walk, i, start.sp);
      trail ^= node;  // the same code inside of a region and outside of it are different paths
    }
    if (next_python < python.depth) [[unlikely]] {
      const NodeIndex around = node;
      node = add_python(thread, node, next_python, low_of(walk, i, start.sp));
      if (node != around) trail ^= node;
    }
    const NodeIndex parent = node;
    if (frame.own) [[unlikely]] {
      node = add_own_frame(thread, parent, frames, i, start.sp, i < innermost);
    } else {
      const FrameKey key{.offset = frame.offset, .module = frame.module, .kind = kind_of(frame.origin)};
      node = thread->tree->child(parent, key, trail);
      full = full || node == parent;
    }
    trail = (trail ^ frame.offset) * kSpread;
    frames[i].user = full ? measurement::kNoNodeIndex : node;
  }
  return node;
}

/// What the thread walked last, from `start`, and the node that it found.
void keep(KnownPaths::Place& place, Thread* thread, const unwind::Registers& start, NodeIndex node,
          std::uint64_t python) {
  place.tree = 0;
  const bool found = thread->walker.depth() != 0 && thread->walker.mutable_frames()[0].user == node;
  if (!found) return;  // the tree is full
  place.walk.keep(thread->walker, start);
  place.modules = thread->modules_seen;
  place.regions = thread->regions.changes;
  place.python = python;
  place.node = node;
  std::atomic_signal_fence(std::memory_order_release);
  place.tree = thread->tree_number;
}

/// A walk of the calling thread for whose result some caller waits.
struct WalkOrder {
  Thread* thread;
  const unwind::Registers* start;
  std::uint64_t site;  ///< what an MPI wrapper's call returns to
  NodeIndex node;      ///< the result
};

/// As current_path, for a start in the wrapper of an MPI call; keeps the walk for the next call of its kind.
void walk_from_wrapper(WalkOrder& order, std::uint64_t python) {
  WalkFlaws flaws;
  Thread* const thread = order.thread;
  order.node = walk_path(thread, *order.start, flaws);
  keep(thread->calls.known_paths.of(order.site, order.start->sp, python), thread, *order.start, order.node,
       python);
}

/// Whether the path of such a call is known.
bool knows_path(const WalkOrder& order, const KnownPaths::Place& place, std::uint64_t python) {
  const Thread* const thread = order.thread;
  return place.tree == thread->tree_number && place.modules == module_generation() &&
         place.regions == thread->regions.changes && place.python == python && place.walk.holds(*order.start);
}

/// On the handler's stack, as all walks (on_handler_stack).
[[gnu::cold]] void find_from_wrapper(void* argument) {
  walk_from_wrapper(*static_cast<WalkOrder*>(argument), 0);
}

[[gnu::cold]] void find_from_python(void* argument) {
  auto& order = *static_cast<WalkOrder*>(argument);
  PythonChain chain;
  read_python_chain(order.thread, chain);
  const std::uint64_t python = hash_of(chain);
  const KnownPaths::Place& place = order.thread->calls.known_paths.of(order.site, order.start->sp, python);
  if (knows_path(order, place, python)) {
    order.node = place.node;
    return;
  }
  keep_python_chain(order.thread, chain);
  walk_from_wrapper(order, python);
}

[[gnu::cold]] void find_anywhere(void* argument) {
  auto& order = *static_cast<WalkOrder*>(argument);
  WalkFlaws flaws;
  order.node = current_path(order.thread, *order.start, flaws);
}

/// As current_path, for a start in the wrapper of an MPI call.
void find_known_path(WalkOrder& order) {
  const KnownPaths::Place& place = order.thread->calls.known_paths.of(order.site, order.start->sp, 0);
  if (knows_path(order, place, 0)) {
    order.node = place.node;
  } else {
    on_handler_stack(order.thread, find_from_wrapper, &order);
  }
}

[[gnu::cold, gnu::noinline]] void keep_python(Thread* thread) {
  PythonChain chain;
  read_python_chain(thread, chain);
  keep_python_chain(thread, chain);
}

}  // namespace

FrameKey key_of_address(std::uint64_t address, FrameKind kind) {
  unwind::CodeModule module;
  if (!find_module(nullptr, address, module))
    return {.offset = address, .module = cct::kNoModule, .kind = kind};
  return {.offset = address - module.bias, .module = module.index, .kind = kind};
}

NodeIndex current_path(Thread* thread, const unwind::Registers& start, WalkFlaws& flaws) {
  if (python_runs(thread)) [[unlikely]]
    keep_python(thread);
  return walk_path(thread, start, flaws);
}

NodeIndex find_call_path(Thread* thread, const unwind::Registers& here, CulpritPath& path) {
  const unwind::Registers wrapper{
      .pc = path.pc, .sp = path.sp, .bp = path.bp, .bx = path.bx, .context = nullptr};
  WalkOrder order{.thread = thread, .start = &wrapper, .site = path.site, .node = 0};
  if (path.pc == 0) {
    order.start = &here;
    on_handler_stack(thread, find_anywhere, &order);
  } else if (python_runs(thread)) [[unlikely]] {
    on_handler_stack(thread, find_from_python, &order);
  } else {
    find_known_path(order);
  }
  path.node = order.node;
  path.tree = thread->tree_number;
  return path.node;
}

// A function that ends in a tail call leaves its return address where it was: its caller seems to have called
// what it jumps to, but its call instruction names another function.
NodeIndex calling_place(Thread* thread, NodeIndex node, std::uint64_t sp, const CallPlace& earlier) {
  const Frame* const frames = thread->walker.mutable_frames();
  const std::size_t depth = thread->walker.depth();
  std::size_t innermost = 0;
  while (innermost < depth && frames[innermost].own) ++innermost;
  if (innermost == depth || frames[innermost].origin != FrameOrigin::call) return node;
  // A function that is still on the stack calls from no deeper than it called then.
  const std::uint64_t below = innermost == 0 ? sp : frames[innermost - 1].cfa;
  const bool was_inside = earlier.return_to != 0 && earlier.cfa < below;
  const std::uint64_t place = unwind::place_in_callee(find_module, nullptr, frames[innermost].pc,
                                                      was_inside ? earlier.return_to - 1 : 0);
  if (place != 0) return thread->tree->child(node, key_of_address(place, FrameKind::call));
  const Frame& frame = frames[innermost];
  if (frame.user != node) return node;  // the tree is full
  return thread->tree->child(thread->tree->parent(node),
                             {.offset = frame.offset, .module = frame.module, .kind = FrameKind::sample});
}

CodeMark current_mark(Thread* thread, const unwind::Registers& start, WalkFlaws flaws) {
  const CulpritThread& shared = culprit_rt_thread;
  const std::uintptr_t place = shared.marked_below;
  if (place == 0) return {.left = true};  // should a mark be counted yet, its call is over
  if (start.sp >= place) return {.left = culprit_rt_left_behind(start.sp)};
  const CodeMark mark{.kind = static_cast<measurement::WaitKind>(shared.mark)};
  if (shared.mark == CallMark::work) return mark;
  const Frame* frames = thread->walker.mutable_frames();
  const std::size_t depth = thread->walker.depth();
  const unwind::Gap gap = thread->walker.gap();
  std::uint64_t low = start.sp;
  for (std::size_t i = 0; i < depth; ++i) {
    if (gap.holds(i)) {
      if (place >= low && place < frames[gap.end].sp) return mark;  // left out with its frame
      i = gap.end;
      low = frames[i].sp;
    }
    // What a handler of the program's does in the middle of a wait is no part of it.
    if (frames[i].origin == FrameOrigin::interrupted) return {};
    if (place >= low && place < frames[i].cfa) return frames[i].own ? mark : CodeMark{.left = true};
    low = frames[i].cfa;
  }
  return flaws.partial ? mark : CodeMark{.left = true};  // the walk may not have come that far
}

void count_flaws(Thread* thread, WalkFlaws flaws, std::uint64_t elapsed) {
  const Frame* frames = thread->walker.mutable_frames();
  const std::size_t depth = thread->walker.depth();
  if (flaws.partial) {
    thread->tree->counters().count_partial(elapsed);
    if (flaws.too_deep) {
      note_too_deep();
    } else if (depth != 0) {
      file.count_partial(frames[depth - 1].module);
    }
  }
  if (!flaws.bridged) return;
  thread->tree->counters().count_bridged();
  std::uint32_t last = Frame::kNoModule;  // a module's frames often follow each other: one sample, one count
  for (std::size_t i = 0; i < depth; ++i) {
    if (!frames[i].bridged || frames[i].module == last) continue;
    last = frames[i].module;
    file.count_bridged(last);
  }
}

}  // namespace culprit::runtime
