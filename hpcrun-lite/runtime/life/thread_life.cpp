#include "runtime/life/thread_life.hpp"

#include "runtime/modules/modules.hpp"
#include "runtime/recording/call_counts.hpp"
#include "runtime/recording/published_calls.hpp"
#include "runtime/recording/regions.hpp"
#include "runtime/recording/stretches.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/charge.hpp"
#include "runtime/sampling/kernel_sampling.hpp"
#include "runtime/sampling/papi_sampling.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/sampling/timers.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/clock.hpp"

#include <csignal>

#include <pthread.h>

namespace culprit::runtime {
namespace {

pthread_key_t end_key;
std::atomic<bool> have_key{false};
pthread_once_t key_once = PTHREAD_ONCE_INIT;

/// Runs at the thread's end however it comes: return, pthread_exit or cancellation.
void end_of_thread(void* /*state*/) {
  end_thread();
}

void make_key() {
  have_key.store(pthread_key_create(&end_key, end_of_thread) == 0, std::memory_order_release);
}

void set_up(Thread* thread) {
  thread->tree = nullptr;
  thread->trace = nullptr;
  if (++thread->tree_number == 0) ++thread->tree_number;
  thread->tree_refused = false;
  thread->blocked_call = false;
  thread->blocked_from = 0;
  thread->own_switches = 0;
  thread->account.cost.start();
  thread->account.halvings = 0;
  thread->account.own_halvings = 0;
  begin_parking(thread->parking);
  thread->interposed.depth = 0;
  thread->python.depth = 0;
  thread->busy.store(false, std::memory_order_relaxed);
  thread->tid = static_cast<int>(thread_id());
  thread->id = static_cast<std::uintptr_t>(pthread_self());
  thread->start_ns = now();
  thread->cpu.last_ns = thread_cpu_time();
  thread->cpu_at_stop.store(thread->cpu.last_ns, std::memory_order_relaxed);
  thread->cpu.stopped_ns.store(0, std::memory_order_relaxed);
  thread->cpu.sampled_at = sampling_time(thread->start_ns);
  thread->cpu.carried_ns = thread->cpu.late = 0;
  for (std::size_t i = 0; i < process.events.count; ++i) {
    EventState& state = thread->events[i];
    state.carried = 0;
    state.skipped = 0;
    state.read = process.events.events[i].source == EventSource::cputime ? thread->cpu.last_ns : 0;
  }
  if (process.events.has_realtime()) {
    const auto seed = static_cast<std::uint64_t>(thread->tid) << 32 ^ thread->start_ns;
    thread->grid.start(sampling_time(thread->start_ns), process.events.events[0].period, seed);
    thread->due.store(thread->grid.next(), std::memory_order_relaxed);
  }
  thread->modules_seen = module_generation();
  thread->function_places.forget();
}

}  // namespace

void begin_thread(Thread* thread, std::uint64_t stack_low, std::uint64_t stack_high) {
  set_up(thread);
  thread->counting_at = 0;
  forget_calls(thread);
  thread->walker.reset(find_module, nullptr, stack_low, stack_high);
  reset_regions(thread->regions, stack_low, stack_high);
  culprit_rt_thread = CulpritThread{.state = thread,
                                    .marked_below = 0,
                                    .mark = 0,
                                    .parked = false,
                                    .counted = false,
                                    .ends_below = 0,
                                    .call = 0,
                                    .stretch = 0,
                                    .pause = 0,
                                    .calls = &thread->calls.counted,
                                    .published = nullptr,
                                    .lock_wait = nullptr,
                                    .in_file_call = false,
                                    .interruptions = 0,
                                    .aborts_below = 0};
  begin_stretches(thread, process.events.has_realtime());
  begin_blame(thread);
  start_kernel_events(thread);
  start_papi_events(thread);
  start_timers(thread);
}

void end_thread() {
  Thread* thread = this_thread();
  if (thread == nullptr) return;
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  unpark();
  end_blame(thread);
  delete_timers(thread);
  stop_kernel_events(thread);
  stop_papi_events(thread);
  give_back_places();
  culprit_rt_thread.state = nullptr;
  culprit_rt_thread.calls = nullptr;
  if (begin_recording(thread)) {
    hand_over_all_calls(thread);
    charge_late_cpu_time(thread);
    publish_last_totals(thread, account_time());
    if (thread->tree != nullptr) thread->tree->life().finish(now());
    end_recording(thread);
  }
  free_thread(thread);
  change_mask(SIG_SETMASK, before);
}

void restart_after_fork() {
  Thread* mine = this_thread();
  for (Thread* thread = first_thread(); thread != nullptr; thread = thread->pool.next) {
    thread->busy.store(false, std::memory_order_relaxed);
    if (!thread->pool.used.load(std::memory_order_relaxed)) continue;
    stop_kernel_events(thread);  // the parent's: they count its threads
    thread->forget_timers();     // a child has none of its parent's
    if (thread != mine) free_thread(thread);
  }
  forget_parked_threads();
  forget_blame();
  restart_papi();
  if (mine == nullptr) return;
  mine->walker.invalidate();
  const std::uint32_t depth = mine->interposed.depth;
  forget_calls(mine);
  set_up(mine);
  culprit_rt_thread.parked = false;
  begin_stretches(mine, process.events.has_realtime());
  begin_blame(mine);
  mine->interposed.depth = depth;
  mine->main = true;
  start_kernel_events(mine);
  start_papi_events(mine);
  start_timers(mine);
}

void watch_end_of_thread(Thread* thread) {
  pthread_once(&key_once, make_key);
  if (have_key.load(std::memory_order_acquire)) pthread_setspecific(end_key, thread);
}

}  // namespace culprit::runtime
