#include "runtime/recording/moved_bytes.hpp"

#include "runtime/recording/call_counts.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/held_off.hpp"
#include "runtime/recording/python_frames.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/state/call_slots.hpp"

#include <atomic>
#include <cerrno>

namespace culprit::runtime {
namespace {

// So much may be lost of each path where the process is killed.
constexpr std::uint32_t kCallsHandedOver = 256;
constexpr std::uint64_t kBytesHandedOver = std::uint64_t{1} << 20;
// An interpreter's functions share a place. Looking which one it is takes 7 us: what moves little counts at
// that of every eighth call.
constexpr std::uint32_t kCallsInterpreted = 8;
constexpr std::uint64_t kBytesInterpreted = std::uint64_t{1} << 16;

/// Adds what a slot holds to the tree, at the call's path where that is not known yet.
[[gnu::noinline]] void hand_over(CulpritCallCount& slot, const InterposedCall& call, bool others) {
  const int error = errno;
  {
    const CallMark mark(CallMark::work, call.function);
    with_tree(__builtin_dwarf_cfa(), [&](Thread* thread) {
      if (slot.tree != thread->tree_number) {
        const unwind::Registers here = unwind::registers_here();
        CulpritPath path{.tree = 0,
                         .node = 0,
                         .pc = here.pc,
                         .sp = here.sp,
                         .bp = here.bp,
                         .bx = here.bx,
                         .site = key_of_place(call.site, nullptr, call.function)};
        slot.node = others ? thread->tree->root() : call_path(thread, here, path);
        slot.tree = thread->tree_number;
      }
      hand_over_bytes(thread, slot, slot.node);
    });
  }
  errno = error;
}

}  // namespace

void add_moved_bytes(Direction direction, std::uint64_t bytes, const InterposedCall& call) {
  CulpritCallTable& table = *culprit_rt_thread.calls;
  if (table.changes_io || sampling_stopped()) return;
  table.has_io = table.changes_io = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  CulpritCallCount& slot = slot_of(table.io, key_of_place(call.site, call.stack, call.function));
  const bool others = &slot == &table.io[CulpritCallTable::kIoSlots];
  (direction == Direction::read ? slot.received : slot.sent) += bytes;
  ++slot.calls;
  const bool interpreted = python_runs(this_thread());
  if (slot.tree == 0 || slot.calls >= (interpreted ? kCallsInterpreted : kCallsHandedOver) ||
      slot.sent + slot.received >= (interpreted ? kBytesInterpreted : kBytesHandedOver)) [[unlikely]] {
    if (interpreted) slot.tree = 0;
    hand_over(slot, call, others);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  table.changes_io = false;
}

}  // namespace culprit::runtime
