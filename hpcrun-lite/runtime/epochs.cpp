// Accumulators of one-sided communication: call paths walked outside the handler.
#include "runtime/api.hpp"
#include "runtime/call_path.hpp"
#include "runtime/control.hpp"
#include "runtime/process.hpp"
#include "runtime/recording.hpp"
#include "runtime/thread.hpp"

#include <atomic>

namespace culprit::runtime {
namespace {

/// While it lives, a sample of this thread stays due: blocking the signal instead would cost two system
/// calls, more than all the rest.
class HandlerHeldOff {
 public:
  explicit HandlerHeldOff(Thread* thread) : thread_(thread) {
    thread_->counting_at = reinterpret_cast<std::uintptr_t>(this);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~HandlerHeldOff() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    thread_->counting_at = 0;
  }
  HandlerHeldOff(const HandlerHeldOff&) = delete;
  HandlerHeldOff& operator=(const HandlerHeldOff&) = delete;

 private:
  Thread* thread_;
};

}  // namespace
}  // namespace culprit::runtime

// Not inlined: the walk starts in this frame, which vanishes from the path as all of ours.
__attribute__((noinline)) unsigned culprit_rt_count_epochs(const CulpritEpoch* epochs, std::size_t count,
                                                           const CulpritStamp* stamps,
                                                           std::size_t stamp_count) {
  using namespace culprit::runtime;
  using culprit::measurement::EpochKind;
  Thread* thread = this_thread();
  if (thread == nullptr || !own_process() || sampling_stopped()) return 0;
  const HandlerHeldOff held(thread);
  if (!begin_recording(thread)) return 0;
  unsigned level = 0;
  if (ensure_tree(thread)) {
    WalkFlaws flaws;
    const culprit::measurement::NodeIndex node =
        current_path(thread, culprit::unwind::registers_here(), flaws);
    for (std::size_t i = 0; i < count; ++i) {
      thread->tree->count_epoch(node, {.kind = static_cast<EpochKind>(epochs[i].kind),
                                       .size_class = epochs[i].size_class,
                                       .window = epochs[i].window,
                                       .peers = epochs[i].peers,
                                       .time_ns = epochs[i].time_ns});
    }
    for (std::size_t i = 0; i < stamp_count; ++i) {
      thread->tree->keep_stamp(node, {.kind = static_cast<EpochKind>(stamps[i].kind),
                                      .instance = stamps[i].instance,
                                      .members = stamps[i].members,
                                      .peer = stamps[i].peer,
                                      .window = stamps[i].window,
                                      .order = stamps[i].order,
                                      .enter_ns = stamps[i].enter_ns,
                                      .exit_ns = stamps[i].exit_ns,
                                      .last_ns = stamps[i].last_ns});
    }
    level = thread->tree->stamp_level();
  }
  end_recording(thread);
  return level;
}
