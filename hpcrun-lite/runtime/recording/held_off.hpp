#pragma once

#include "runtime/recording/recording.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"

#include <atomic>
#include <cstdint>

// Recording at a call path outside of the handler, whose samples stay due meanwhile: blocking the signal
// instead would cost two system calls, more than all the rest.
namespace culprit::runtime {

/// Charges the tick that came while the handler was held off, to the code that had the path recorded: taken
/// by the next sample, it would be that of whatever runs then, mostly the wait that follows. Set before any
/// thread is sampled.
using ChargeOwedTick = void (*)(Thread* thread);
extern ChargeOwedTick charge_owed_tick;

/// From here to let_handler_on(): for as long as the function whose stack holds `place` runs.
inline void hold_handler_off(Thread* thread, const void* place) {
  thread->counting_at = reinterpret_cast<std::uintptr_t>(place);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void let_handler_on(Thread* thread) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread->counting_at = 0;
  if (thread->owes_tick) [[unlikely]]
    charge_owed_tick(thread);
}

/// True if the thread is in the middle of that: a signal handler of the program's called.
inline bool is_held_off(Thread* thread, const void* place) {
  return is_counting(thread, reinterpret_cast<std::uintptr_t>(place));
}

/// Ends the recording of a path, with the handler held off: where the thread's tree is low on room, has the
/// flusher thread add some, and waits for that where the next call paths would find none, some milliseconds
/// at most. MPI calls can bring more new paths in a moment than samples in all of the flusher thread's
/// quarter of a second.
void end_path(Thread* thread);

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

}  // namespace culprit::runtime
