// Writes regions on the time line of a process's main thread (docs/algorithms.md 9): those that the program
// marks, and the outermost parallel regions of OpenMP. Each is one record of begin,
// end and call path, written when the region ends. Regions below 20 µs have none, since a record costs some
// tenths of a microsecond; the measurement states once that they are missing. Nothing is recorded while
// sampling is stopped, nor from within an MPI call or the runtime itself.
#include "runtime/recording/traced_regions.hpp"

#include "runtime/api.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/held_off.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/tracing.hpp"
#include "runtime/state/call_mark.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"

#include <atomic>

namespace culprit::runtime {

namespace {

/// Once for each measurement.
[[gnu::cold]] void note_short_region() {
  static std::atomic<std::uint64_t> noted_in{0};
  const auto id = static_cast<std::uint64_t>(process.pid);
  if (noted_in.exchange(id, std::memory_order_relaxed) == id) return;
  file.note("regions shorter than 20 us are not on the time line");
}

}  // namespace

bool is_on_time_line(const Thread* thread) {
  return culprit_rt_tracing.load(std::memory_order_relaxed) && thread->main;
}

bool may_trace(Thread* thread, const void* here) {
  return is_outside_of_marks(reinterpret_cast<std::uintptr_t>(here)) && !is_held_off(thread, here) &&
         own_memory() && !sampling_stopped();
}

std::uint64_t begin_traced_region(const Thread* thread) {
  return is_on_time_line(thread) ? now() : 0;
}

// Not inlined: the walk starts in this frame, which vanishes from the path as all of ours.
__attribute__((noinline)) void end_traced_region(Thread* thread, std::uint64_t begin_ns, bool parallel) {
  const void* const here = __builtin_frame_address(0);
  if (begin_ns == 0 || !is_on_time_line(thread) || !may_trace(thread, here)) return;
  const std::uint64_t end_ns = now();
  if (end_ns < begin_ns + kLeastTraced) {
    note_short_region();
    return;
  }
  hold_handler_off(thread, here);
  thread->calls.cost.exit_ns = end_ns;
  if (begin_recording(thread)) {
    if (ensure_tree(thread) && thread->trace != nullptr) {
      CulpritPath path{};
      const measurement::NodeIndex node = call_path(thread, unwind::registers_here(), path);
      if (!thread->trace->region(begin_ns, end_ns, node, parallel)) update_tracing();
      count_recorded(thread);
    }
    end_path(thread);
  }
  let_handler_on(thread);
}

}  // namespace culprit::runtime
