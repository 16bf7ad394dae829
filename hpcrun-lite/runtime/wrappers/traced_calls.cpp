// What the MPI wrappers, and programs that mark their iterations and regions, hand over for the time line of
// a thread.
#include "runtime/wrappers/traced_calls.hpp"

#include "runtime/api.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/held_off.hpp"
#include "runtime/recording/readings.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/regions.hpp"
#include "runtime/recording/traced_regions.hpp"
#include "runtime/recording/tracing.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/backoff.hpp"
#include "runtime/system/clock.hpp"

#include <atomic>
#include <csignal>

using namespace culprit::measurement::trace;
using culprit::measurement::TraceStream;

namespace culprit::runtime {
namespace {

/// No handler of the program's runs while this lives: it might jump away while the process's stream is
/// locked.
class AllSignalsHeld {
 public:
  AllSignalsHeld() : before_(change_mask(SIG_SETMASK, ~KernelMask{0})) {}
  ~AllSignalsHeld() { change_mask(SIG_SETMASK, before_); }
  AllSignalsHeld(const AllSignalsHeld&) = delete;
  AllSignalsHeld& operator=(const AllSignalsHeld&) = delete;

 private:
  KernelMask before_;
};

/// The file may be being created by another thread, or have to wait for the flusher thread's descriptors: the
/// flusher thread's turn is a quarter of a second.
bool file_is_there() {
  constexpr int kPauses = 5000;
  Backoff backoff;
  for (int i = 0; !ensure_file(); ++i) {
    if (recording_refused() || i == kPauses) return false;
    backoff.pause();
  }
  return true;
}

/// The counters at the border between two iterations, so that each has what was counted in it.
void read_border(Thread* thread, std::uint64_t time, measurement::NodeIndex node) {
  if (!samples_further_events()) return;
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);  // a sample would take what is being read
  read_events(thread, time, node);
  change_mask(SIG_SETMASK, before);
}

bool can_trace(Thread* thread) {
  return ensure_tree(thread) && thread->trace != nullptr;
}

bool begin_at(Thread* thread, measurement::NodeIndex node, std::uint64_t enter_ns, std::uint64_t exit_ns,
              bool any) {
  if (thread->trace->begin_call(enter_ns, exit_ns, node, any)) return true;
  update_tracing();
  return false;
}

/// An iteration begins at `node`.
void add_iteration(Thread* thread, measurement::NodeIndex node, std::uint64_t time, long number) {
  read_border(thread, time, node);
  if (!begin_at(thread, node, time, time, false)) return;
  thread->trace->add({.kind = OperationKind::iteration,
                      .bytes = static_cast<std::uint64_t>(static_cast<std::int64_t>(number))});
  thread->trace->end_call();
}

/// Records an iteration at the calling thread's path. Not inlined: the walk starts in this frame, which
/// vanishes from the path as all of ours.
__attribute__((noinline)) void trace_iteration(long number) {
  Thread* thread = this_thread();
  const void* const here = __builtin_frame_address(0);
  if (thread == nullptr || is_held_off(thread, here) || !own_memory()) return;
  hold_handler_off(thread, here);
  if (begin_recording(thread)) {
    const std::uint64_t time = now();
    CulpritPath path{};
    if (can_trace(thread))
      add_iteration(thread, call_path(thread, unwind::registers_here(), path), time, number);
    end_path(thread);
  }
  let_handler_on(thread);
}

}  // namespace

void mark_iteration(long number) {
  count_iteration();
  if (culprit_rt_tracing.load(std::memory_order_relaxed)) trace_iteration(number);
}

namespace {

void begin_marked_region(const char* name, std::uintptr_t frame, std::uintptr_t caller) {
  const Thread* const thread = this_thread();
  if (thread == nullptr) return;
  begin_region(name, {.frame = frame, .caller = caller, .name = 0, .since_ns = begin_traced_region(thread)});
}

void trace_marked_region(std::uint64_t since_ns) {
  end_traced_region(this_thread(), since_ns, false);
}

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

void mark_region_begin(const char* name, const void* frame, const void* caller) {
  begin_marked_region(name, number(frame), number(caller));
}

void mark_region_end(const char* name, const void* frame) {
  end_region(name, number(frame), trace_marked_region);
}

__attribute__((noinline)) void mark_region_begin_outside(const char* name) {
  begin_marked_region(name, frame_outside(__builtin_frame_address(0), __builtin_return_address(0)), 0);
}

void mark_region_end_outside(const char* name) {
  end_region(name, 0, trace_marked_region);
}

}  // namespace culprit::runtime

using namespace culprit::runtime;

bool culprit_rt_traced() {
  return process.active && process.traced && !control.off.load(std::memory_order_relaxed) &&
         !recording_refused();
}

// Inlined into both ways to record a call: the walk starts in theirs. `caller` is an address on the stack of
// their caller.
static inline __attribute__((always_inline)) bool begin_call(Thread* thread, const void* caller,
                                                             std::uint64_t enter_ns, std::uint64_t exit_ns,
                                                             bool any, CulpritPath& path) {
  if (thread == nullptr || is_held_off(thread, caller) || !own_memory() || sampling_stopped()) return false;
  hold_handler_off(thread, caller);
  thread->calls.cost.exit_ns = exit_ns;
  if (begin_recording(thread)) {
    if (can_trace(thread) &&
        begin_at(thread, call_path(thread, culprit::unwind::registers_here(), path), enter_ns, exit_ns, any))
      return true;
    end_recording(thread);
  }
  let_handler_on(thread);
  return false;
}

static inline void end_call(Thread* thread) {
  thread->trace->end_call();
  count_recorded(thread);
  end_path(thread);
  let_handler_on(thread);
}

__attribute__((noinline)) void culprit_rt_trace_call(std::uint64_t enter_ns, std::uint64_t exit_ns,
                                                     const Operation* operations, std::size_t count, bool any,
                                                     CulpritPath* path) {
  unpark();  // what was waited inside of the call comes before it
  Thread* thread = this_thread();
  if (!begin_call(thread, __builtin_dwarf_cfa(), enter_ns, exit_ns, any, *path)) return;
  for (std::size_t i = 0; i < count; ++i) thread->trace->add(operations[i]);
  end_call(thread);
}

__attribute__((noinline)) bool culprit_rt_trace_begin(std::uint64_t enter_ns, std::uint64_t exit_ns, bool any,
                                                      CulpritPath* path) {
  unpark();
  return begin_call(this_thread(), __builtin_dwarf_cfa(), enter_ns, exit_ns, any, *path);
}

void culprit_rt_trace_operations(const Operation* operations, std::size_t count) {
  TraceStream* trace = this_thread()->trace;
  for (std::size_t i = 0; i < count; ++i) trace->add(operations[i]);
}

void culprit_rt_trace_end() {
  end_call(this_thread());
}

Context culprit_rt_trace_define(const CulpritDefinition* definition) {
  if (!culprit_rt_traced()) return kNoContext;
  const AllSignalsHeld held;
  return file_is_there() ? trace_file.define(*definition) : kNoContext;
}

void culprit_rt_trace_clock(const ClockPair* pair) {
  if (!culprit_rt_traced()) return;
  const AllSignalsHeld held;
  if (file_is_there()) trace_file.add_clocks(*pair);
}
