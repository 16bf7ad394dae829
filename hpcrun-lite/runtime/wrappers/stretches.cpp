// What the MPI wrappers say of calls that wait.
#include "runtime/recording/stretches.hpp"

#include "runtime/api.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/held_off.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"

namespace culprit::runtime {
namespace {

/// Claims the calling thread's tree, whose wrapper's stack holds `caller`. Null: nothing can be recorded, and
/// what is known of the present stretch ends.
Thread* claim(const void* caller) {
  Thread* thread = this_thread();
  if (thread == nullptr || is_held_off(thread, caller)) return nullptr;
  if (own_memory() && !sampling_stopped()) {
    hold_handler_off(thread, caller);
    if (begin_recording(thread)) {
      if (ensure_tree(thread)) return thread;
      end_recording(thread);
    }
    let_handler_on(thread);
  }
  forget_stretch(thread);
  return nullptr;
}

void release(Thread* thread) {
  end_path(thread);
  let_handler_on(thread);
}

}  // namespace
}  // namespace culprit::runtime

using namespace culprit::runtime;

__attribute__((noinline)) void culprit_rt_count_wait(std::uint64_t enter_ns, std::uint64_t exit_ns,
                                                     CulpritPath* path) {
  unpark();  // what was waited inside of the call is its own
  Thread* thread = claim(__builtin_dwarf_cfa());
  if (thread == nullptr) return;
  const auto call = call_path(thread, culprit::unwind::registers_here(), *path);
  count_waiting_call(thread, call, enter_ns, exit_ns);
  release(thread);
}

__attribute__((noinline)) void culprit_rt_end_stretches(std::uint64_t enter_ns, CulpritPath* path) {
  Thread* thread = claim(__builtin_dwarf_cfa());
  if (thread == nullptr) return;
  const auto call = call_path(thread, culprit::unwind::registers_here(), *path);
  end_gap(thread, call, sampling_time(enter_ns));
  forget_stretch(thread);
  release(thread);
}
