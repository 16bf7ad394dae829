#include "runtime/life/fork.hpp"

#include "runtime/life/thread_life.hpp"
#include "runtime/modules/loaded_module.hpp"
#include "runtime/modules/map_snapshot.hpp"
#include "runtime/process/processors.hpp"
#include "runtime/process/scheduling.hpp"
#include "runtime/process/wanted.hpp"
#include "runtime/recording/flusher.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/refusals.hpp"
#include "runtime/recording/regions.hpp"
#include "runtime/recording/tracing.hpp"
#include "runtime/sampling/papi_sampling.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/sampling/start_stop.hpp"
#include "runtime/state/control.hpp"
#include "runtime/state/own_memory.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/export.hpp"
#include "runtime/system/real.hpp"

#include <csignal>

#include <pthread.h>
#include <unistd.h>

namespace culprit::runtime {
namespace {

__attribute__((tls_model("initial-exec"))) __thread bool blocked_before_fork;

/// A fork that signals keep interrupting starts over each time; a child must not begin inside the handler.
void before_fork() {
  unpark();
  blocked_before_fork = (change_mask(SIG_BLOCK, process.mask) & process.mask) != 0;
  hold_papi();
}

void after_fork_in_parent() {
  release_papi();
  if (!blocked_before_fork) change_mask(SIG_UNBLOCK, process.mask);
}

void after_fork_in_child() {
  release_papi();
  process.pid = process_id();
  mark_memory();
  process.launched = false;
  process.start_ns = now();
  process.start_realtime_ns = static_cast<std::int64_t>(read_clock(CLOCK_REALTIME));
  process.stopped.store(false, std::memory_order_relaxed);
  process.ended.store(false, std::memory_order_relaxed);
  reset_control_after_fork();
  start_brake(process.brake.signal_ns());
  restart_regions_after_fork();
  forget_flusher();
  forget_refusals();
  forget_file();
  forget_snapshot();
  forget_unloading();
  // What a shell forks only starts something else; what a rank forks that is not wanted is not wanted either.
  process.active = !is_shell() && !control.off.load(std::memory_order_relaxed);
  if (process.active) {
    begin_schedules();
    restart_after_fork();
  } else {
    culprit_rt_thread.state = nullptr;
  }
  update_tracing();
  after_fork_in_parent();
}

}  // namespace

void follow_forks() {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace culprit::runtime

/// fork without the handlers that libraries registered, ours among them.
// NOLINTNEXTLINE(bugprone-reserved-identifier): its name in the C library
CULPRIT_EXPORT pid_t _Fork() noexcept {
  static CULPRIT_REAL culprit::runtime::Real<pid_t()> real{"_Fork"};
  if (!culprit::runtime::own_process()) return real();
  culprit::runtime::before_fork();
  const pid_t child = real();
  if (child == 0) {
    culprit::runtime::after_fork_in_child();
  } else {
    culprit::runtime::after_fork_in_parent();
  }
  return child;
}
