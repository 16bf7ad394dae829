// The end of a process: recording stops in all threads before what they hold back is added, and the file is
// sealed last. Where code ends it by an abort or a deadly signal, the thread's call path becomes the place
// where it was last seen. Then the signal takes its default action, in the code that it interrupted, so that
// a core file shows nothing of this. A handler of the program's own goes before; where it sets the default
// action and sends the signal anew, as handlers of crashes do, the signal comes here.
#include "runtime/life/process_end.hpp"

#include "runtime/life/summary_line.hpp"
#include "runtime/process/scheduling.hpp"
#include "runtime/recording/announced_abort.hpp"
#include "runtime/recording/call_counts.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/flusher.hpp"
#include "runtime/recording/published_calls.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/tracing.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/charge.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/sampling/program_signals.hpp"
#include "runtime/sampling/timers.hpp"
#include "runtime/state/process.hpp"
#include "runtime/state/thread.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/system_calls.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>

namespace culprit::runtime {
namespace {

/// What the process ends by, where that is not what it calls.
measurement::EndReason reason_of_end(measurement::EndReason called) {
  const bool exits = called == measurement::EndReason::exit || called == measurement::EndReason::quick_exit;
  if (!exits) return called;
  if (is_aborting(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))))
    return measurement::EndReason::abort;  // its handler of SIGABRT ends it
  return process.in_mpi.load(std::memory_order_relaxed) ? measurement::EndReason::left : called;
}

/// An MPI library ends a rank that has lost its launcher, from a thread of its own or from within a call:
/// what the others were in is what there is to know of a job that hung. Likewise where a rank crashed.
bool keeps_calls(measurement::EndReason reason) {
  const bool crashed = reason == measurement::EndReason::signal || reason == measurement::EndReason::abort;
  if (crashed) return culprit_rt_thread.published != nullptr;
  return reason == measurement::EndReason::left && (calls_in_progress() || thread_id() != process.pid);
}

/// How the process ends.
struct End {
  measurement::EndReason reason;
  int exit_status;
};

void seal_process(void* argument) {
  const auto [reason, exit_status] = *static_cast<const End*>(argument);
  unpark();
  const bool stopped = stop_recording();
  hold_flusher();
  if (stopped) {
    note_open_waits();
    hand_over_calls_of_all_threads();
    charge_late_cpu_time_of_all();
    publish_all_totals();
  }
  if (Thread* thread = this_thread()) delete_timers(thread);
  close_process();
  note_end();
  if (reason == measurement::EndReason::abort) note_abort();
  if (reason == measurement::EndReason::left && exit_status != kNoExitStatus) note_exit_status(exit_status);
  note_schedules_now(now());
  // Only definitions for a trace: a measurement of nothing.
  if (file.open() && control.delayed.load(std::memory_order_relaxed)) discard_file();
  end_trace(reason);
  if (file.open() && keeps_calls(reason)) {
    file.keep(reason, now());
  } else if (file.open()) {
    file.seal(reason, now(), stopped);
  }
}

/// Whether the calling thread is on a stack that has too little room: a coroutine's, or an alternate one, on
/// which a program's handler of crashes ends it.
bool needs_stack(const Thread* thread) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const Regions& own = thread->regions;
  return here < own.stack_low + kHandlerStack || here >= own.stack_high;
}

bool another_is_dying() {
  const long dying = process.dying.load(std::memory_order_acquire);
  return dying != 0 && dying != thread_id();
}

/// Waits until the process dies; not for ever, since some processes do not die of a signal (the first one of
/// a PID namespace).
void await_death() {
  constexpr std::uint64_t kLook = kSecond / 1000;
  for (std::uint64_t waited = 0; waited < 5 * kSecond; waited += kLook) {
    const timespec look = to_timespec(kLook);
    system_call(SYS_nanosleep, word(&look), 0);
  }
}

}  // namespace

void end_process(measurement::EndReason reason, int exit_status) {
  if (process.ended.exchange(true, std::memory_order_acq_rel)) {
    if (another_is_dying()) await_death();
    return;
  }
  End end{.reason = reason_of_end(reason), .exit_status = exit_status};
  const KernelMask before = change_mask(SIG_BLOCK, process.mask);
  if (Thread* thread = this_thread(); thread != nullptr && needs_stack(thread)) {
    on_handler_stack(thread, seal_process, &end);
  } else {
    seal_process(&end);
  }
  change_mask(SIG_SETMASK, before);
}

namespace {

constexpr int kDeadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

struct Crash {
  Thread* thread;
  unwind::Registers start;
};

void note_where(void* argument) {
  const auto* const crash = static_cast<const Crash*>(argument);
  Thread* const thread = crash->thread;
  if (!begin_recording(thread)) return;
  if (ensure_tree(thread)) {
    WalkFlaws flaws;
    note_place(*thread, current_path(thread, crash->start, flaws), sampling_time(now()));
  }
  end_recording(thread);
}

/// Whether the thread is in the middle of nothing of ours, which then could not be used, or not be waited
/// for.
bool may_record(Thread* thread, std::uint64_t sp) {
  if (thread == nullptr || !process.active || !own_process()) return false;
  return !process.ended.load(std::memory_order_acquire) && !is_counting(thread, sp) &&
         !thread->busy.load(std::memory_order_relaxed) && !is_handler_stack(thread, sp);
}

/// Guards a deadly signal. Other threads run on until it takes its action: those that end the process, or
/// crash as well, wait for that, so that the process dies as it would have.
void crash(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  Crash where{.thread = this_thread(), .start = unwind::registers_of(context)};
  long nobody = 0;
  if (may_record(where.thread, where.start.sp) &&
      process.dying.compare_exchange_strong(nobody, thread_id(), std::memory_order_acq_rel)) {
    on_handler_stack(where.thread, note_where, &where);
    if (signal != SIGABRT) note_signal(signal);
    end_process(signal == SIGABRT ? measurement::EndReason::abort : measurement::EndReason::signal);
  } else if (another_is_dying()) {
    await_death();
  }
  take_default_action(signal, info);
  errno = error;
}

}  // namespace

void end_by_abort() {
  Crash where{.thread = this_thread(), .start = unwind::registers_here()};
  if (may_record(where.thread, where.start.sp)) on_handler_stack(where.thread, note_where, &where);
  end_process(measurement::EndReason::abort);
}

void record_crashes() {
  for (const int signal : kDeadly) guard_default_action(signal, crash);
}

void forget_crashes() {
  for (const int signal : kDeadly) leave_default_action(signal);
}

}  // namespace culprit::runtime
