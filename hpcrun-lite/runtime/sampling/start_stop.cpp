// Starts and stops sampling in all threads. The new state is stored first, then the timers and counters of
// each thread are changed; a thread that arms a timer looks at the state afterwards. So either the timer is
// found and disarmed, or its thread finds the new state: none runs on. CPU time that a thread uses while
// sampling is stopped is measured and counts for nothing.
#include "runtime/sampling/start_stop.hpp"

#include "measurement/runtime_notes.hpp"
#include "runtime/recording/tracing.hpp"
#include "runtime/sampling/kernel_sampling.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/sampling/timers.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/backoff.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/text.hpp"

#include <csignal>
#include <ctime>

namespace culprit::runtime {

namespace {

std::atomic<bool> changing{false};

/// Holds the lock, with every signal blocked but ours: a handler of the program's may itself start or stop,
/// and must not find the lock held by the code it interrupted. Our own handler takes no part.
class Change {
 public:
  Change() : before_(change_mask(SIG_BLOCK, ~process.mask)) {
    Backoff backoff;
    while (changing.exchange(true, std::memory_order_acquire)) backoff.pause();
  }
  ~Change() {
    changing.store(false, std::memory_order_release);
    change_mask(SIG_SETMASK, before_);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  KernelMask before_;
};

/// What a thread consumes from here to resume_thread counts for nothing.
void pause_thread(Thread* thread) {
  look_at_stop(thread);
  pause_timers(thread);
  pause_kernel_events(thread);
  thread->cpu_at_stop.store(cpu_time_of(thread->tid), std::memory_order_relaxed);
}

void resume_thread(Thread* thread) {
  const std::uint64_t before = thread->cpu_at_stop.load(std::memory_order_relaxed);
  const std::uint64_t now_used = cpu_time_of(thread->tid);
  if (now_used > before) thread->cpu.stopped_ns.fetch_add(now_used - before, std::memory_order_relaxed);
  resume_kernel_events(thread);
  resume_timers(thread);
  look_after_stop(thread);
}

void for_each_thread(void (*act)(Thread*)) {
  for (Thread* thread = first_thread(); thread != nullptr; thread = thread->pool.next) {
    if (thread->pool.used.load(std::memory_order_acquire)) act(thread);
  }
}

void mark_in_file() {
  file.set_stopped(control.stopped_total.load(std::memory_order_relaxed),
                   control.stopped_since.load(std::memory_order_relaxed));
}

/// Of what passed in a stop, time lines know the length and not the code.
void note_stop_amid_time_lines() {
  static bool noted = false;
  if (noted || !process.traced || !trace_file.recorded()) return;
  noted = true;
  Text<160> line;
  line.add(measurement::kSamplingStopped)
      .add(": time lines give what passed meanwhile to the code around it");
  file.note(line.c_str());
}

}  // namespace

void delay_sampling(std::uint64_t start_ns) {
  control.delayed.store(true, std::memory_order_relaxed);
  control.stopped_since.store(start_ns, std::memory_order_relaxed);
}

void start_sampling() {
  if (!own_process()) return;
  if (!sampling_stopped()) return;
  const Change change;
  const std::uint64_t since = control.stopped_since.load(std::memory_order_relaxed);
  if (since == 0 || control.off.load(std::memory_order_relaxed)) return;
  control.delayed.store(false, std::memory_order_relaxed);
  control.changes.fetch_add(1, std::memory_order_acq_rel);
  control.stopped_total.fetch_add(now() - since, std::memory_order_acq_rel);
  control.stopped_since.store(0, std::memory_order_seq_cst);
  control.changes.fetch_add(1, std::memory_order_acq_rel);
  mark_in_file();
  note_stop_amid_time_lines();
  update_tracing();
  for_each_thread(resume_thread);
}

void stop_sampling() {
  if (!own_process()) return;
  if (sampling_stopped()) return;
  const Change change;
  if (sampling_stopped()) return;
  control.stopped_since.store(now(), std::memory_order_seq_cst);
  mark_in_file();
  update_tracing();
  for_each_thread(pause_thread);
}

void end_sampling() {
  const Change change;
  control.off.store(true, std::memory_order_relaxed);
  if (!sampling_stopped()) control.stopped_since.store(now(), std::memory_order_seq_cst);
  update_tracing();
  for_each_thread([](Thread* thread) {
    delete_timers(thread);
    pause_kernel_events(thread);
    silence(thread->papi.descriptors);
  });
}

void silence_events(Thread* thread) {
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  silence_kernel_events(thread);
  silence(thread->papi.descriptors);
  const timespec at_once{};
  while (system_call(SYS_rt_sigtimedwait, word(&process.mask), 0, word(&at_once), sizeof process.mask) > 0) {
  }
  change_mask(SIG_SETMASK, before);
}

void resume_events(Thread* thread) {
  rearm_kernel_events(thread);
  resume(thread->papi.descriptors);
}

void reset_control_after_fork() {
  changing.store(false, std::memory_order_relaxed);
}

}  // namespace culprit::runtime

void culprit_rt_control_level(int level) {
  if (level == 0) culprit::runtime::stop_sampling();
  if (level == 1 || level == 2) culprit::runtime::start_sampling();
}
