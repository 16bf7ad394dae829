// What the MPI wrappers count where there is no trace.
#include "runtime/recording/call_counts.hpp"

#include "runtime/api.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/held_off.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/state/control.hpp"
#include "runtime/state/own_memory.hpp"

namespace culprit::runtime {
namespace {

/// Calls `act` with the calling thread, which has a tree and whose handler is held off. Inlined: a walk
/// starts in the caller's frame.
template <typename Act>
[[gnu::always_inline]] inline void with_tree(const void* caller, Act act) {
  Thread* thread = this_thread();
  if (thread == nullptr || is_held_off(thread, caller) || !own_memory() || sampling_stopped()) return;
  hold_handler_off(thread, caller);
  if (begin_recording(thread)) {
    if (ensure_tree(thread)) act(thread);
    end_path(thread);
  }
  let_handler_on(thread);
}

}  // namespace
}  // namespace culprit::runtime

using namespace culprit::runtime;

__attribute__((noinline)) void culprit_rt_hand_over(CulpritCallCount* slot, CulpritPath* path) {
  with_tree(__builtin_dwarf_cfa(), [&](Thread* thread) {
    thread->calls_are_counted = true;
    if (slot->tree != thread->tree_number) {
      const bool others = slot == &thread->calls.slots[CulpritCallTable::kSlots];
      slot->node =
          others ? thread->tree->root() : call_path(thread, culprit::unwind::registers_here(), *path);
      slot->tree = thread->tree_number;
    }
    hand_over_calls(thread, *slot, slot->node);
  });
}

__attribute__((noinline)) void culprit_rt_hand_over_partner(CulpritPartnerCount* partner) {
  with_tree(__builtin_dwarf_cfa(), [&](Thread* thread) {
    thread->calls_are_counted = true;
    hand_over_partner(thread, *partner);
  });
}
