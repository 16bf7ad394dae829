// The signal handler and its timers (docs/algorithms.md 13). A tick: the weight is the ticks of the grid
// since the last sample; the stack is walked on a stack of our own, the path's node found, weight and CPU
// time added, and the next tick armed, unless the thread waits (parking.cpp). What cannot be recorded is put
// back and carried by the next sample. Every sixteenth run is timed and charged (run_cost.cpp). Cost: 0.08 to
// 0.1 µs warm, beside what the kernel takes for timer and signal (docs/figures.md).
#include "runtime/sampling/handler.hpp"

#include "runtime/modules/modules.hpp"
#include "runtime/pace/own_work.hpp"
#include "runtime/recording/announced_abort.hpp"
#include "runtime/recording/call_path.hpp"
#include "runtime/recording/file_names.hpp"
#include "runtime/recording/flusher.hpp"
#include "runtime/recording/held_off.hpp"
#include "runtime/recording/published_calls.hpp"
#include "runtime/recording/readings.hpp"
#include "runtime/recording/recording.hpp"
#include "runtime/recording/stretches.hpp"
#include "runtime/recording/traced_waits.hpp"
#include "runtime/sampling/blame.hpp"
#include "runtime/sampling/charge.hpp"
#include "runtime/sampling/kernel_sampling.hpp"
#include "runtime/sampling/parking.hpp"
#include "runtime/sampling/program_signals.hpp"
#include "runtime/sampling/run_cost.hpp"
#include "runtime/sampling/timers.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/c_library.hpp"
#include "runtime/system/clock.hpp"
#include "runtime/system/own_stack.hpp"
#include "runtime/system/system_calls.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

namespace culprit::runtime {
namespace {

using measurement::SampleValues;

/// The ticks that passed, on the thread's time line, with what further events counted meanwhile.
[[gnu::cold]] void trace_ticks(Thread* thread, std::uint64_t time, std::uint64_t elapsed,
                               measurement::NodeIndex node, measurement::WaitKind mark) {
  trace_short_waits(thread, monotonic_time(time));
  thread->trace->sample(monotonic_time(time), elapsed, node, mark);
  if (samples_further_events()) read_events(thread, monotonic_time(time), node);
}

/// A tick may be taken that much later although the thread had a processor.
constexpr std::uint64_t kLate = 200'000;
/// This many late samples in a row leave what they used to the next.
constexpr std::uint32_t kMostLate = 16;

/// A sample, as far as it says what the thread's CPU time was used for.
struct SampledAt {
  std::uint64_t due, time;  ///< on the sampling clock
  measurement::NodeIndex node;
  bool asleep;  ///< in a wait for another thread
};

/// What of the `used` CPU time since the last sample this one is charged. A thread that had lost its
/// processor is interrupted where the kernel took it, at system calls more often than elsewhere, and one that
/// fell asleep since the last sample computed before that: the next sample that met it on a processor is
/// charged that time, too.
std::uint64_t charged_cpu(Thread* thread, std::uint64_t used, const SampledAt& at) {
  ChargedTime& cpu = thread->cpu;
  const std::uint64_t passed = at.time - std::exchange(cpu.sampled_at, at.time);
  const std::uint64_t late = at.time > at.due ? at.time - at.due : 0;
  const std::uint64_t off = passed > used ? passed - used : 0;
  const bool lost_processor = late > kLate && off > late / 2;
  const bool asleep = at.asleep && off > kLate;
  cpu.carried_ns += used;
  if (asleep || lost_processor) [[unlikely]] {
    // Between long sleeps a thread may work so little that samples hardly ever meet it.
    if (cpu.late == 0 || !asleep) ++cpu.late;
    cpu.late_node = at.node;
    if (cpu.late <= kMostLate) return 0;
  }
  cpu.late = 0;
  return std::exchange(cpu.carried_ns, 0);
}

/// Whether the thread worked for us, by its last walk. Behind a call that held the signal back it is in our
/// code, too, but comes from the call.
bool met_own_work(Thread* thread) {
  if (thread->blocked_call) return false;
  const unwind::Frame* frames = thread->walker.mutable_frames();
  return works_for_us(frames, thread->walker.depth(), is_in_vdso(frames[0].pc));
}

/// Where a tick met a thread.
struct Met {
  unwind::Registers start;
  const void* context;  ///< that the signal interrupted; null: the thread itself charges a tick that it owes
};

/// Charges the ticks up to `time` to their call path. False: not now, they stay due.
bool record_ticks(Thread* thread, const Met& met, std::uint64_t time) {
  if (!ensure_tree(thread)) {
    if (!thread->tree_refused) return false;
    count_lost(thread->grid.pass(time));
    delete_timers(thread);  // they would wake it for nothing, as often as those that are measured
    return true;
  }
  const std::uint64_t due = thread->grid.next();
  const std::uint64_t weight = thread->grid.pass(time);
  if (weight == 0) return true;
  const Account& account = thread->blame.account;
  const std::int64_t rate = teams::active() && !account.changing() ? teams::rate(account) : 0;
  const unwind::Registers& start = met.start;
  WalkFlaws flaws;
  const measurement::NodeIndex node =
      process.names_files ? current_path_with_file(thread, start, flaws) : current_path(thread, start, flaws);
  const std::uint64_t elapsed = weight * thread->grid.period();
  if (flaws.any()) [[unlikely]]
    count_flaws(thread, flaws, elapsed);
  // A tick that the thread owes came in our code. Ticks that passed while it had no processor count, too:
  // what recording adds to the work of a thread makes these pauses longer in like proportion.
  if (met.context == nullptr || met_own_work(thread)) [[unlikely]] {
    thread->calls.cost.sampled_ns += elapsed;
    ++thread->calls.cost.samples;
  }
  if (thread->calls.cost.sampled_ns > thread->calls.cost.recorded_ns) [[unlikely]]
    record_call_cost(thread);
  const CodeMark found = current_mark(thread, start, flaws);
  const measurement::WaitKind mark = found.kind;
  const std::uint64_t cpu = cpu_time_unsampled(thread);
  thread->cpu.last_ns += cpu;
  const bool asleep =
      met.context != nullptr && awaits_thread(account.activity) && in_system_call(met.context);
  const SampledAt at{.due = due, .time = time, .node = node, .asleep = asleep};
  thread->tree->record(node, SampleValues{.time_ns = elapsed,
                                          .weight = weight,
                                          .cpu_ns = charged_cpu(thread, cpu, at),
                                          .blocked = thread->blocked_call,
                                          .mark = mark,
                                          .stretch = present_stretch()});
  note_place(*thread, node, time);
  if (teams::active()) blame_sample(thread, node, {.ns = elapsed, .rate = rate, .left = found.left}, time);
  if (thread->trace != nullptr) [[unlikely]]
    trace_ticks(thread, time, elapsed, node, mark);
  if (thread->tree->arena().asks_for_room()) [[unlikely]]
    ring_flusher();
  if (met.context != nullptr) park_if_waiting(thread, met.context, node, mark, cpu, time);
  return true;
}

/// One tick of the wall clock, from the kernel's signal to the next arming.
void take_tick(Thread* thread, const void* context) {
  if (sampling_stopped()) return;  // a straggler: its tick stays due, on a clock that stands still
  const std::uint64_t time = sampling_time(now());
  look_after_abort(unwind::registers_of(context).sp);
  bool done = false;
  if (process.empty_handler) {
    thread->grid.pass(time);
    done = true;
  } else if (is_counting(thread, unwind::registers_of(context).sp)) {
    thread->owes_tick = true;
  } else if (begin_recording(thread)) {
    if (thread->parking.on.load(std::memory_order_relaxed)) end_parking(thread, time);
    done = record_ticks(thread, {unwind::registers_of(context), context}, time);
    end_recording(thread);
  }
  // To arm the next tick is part of what a timer costs, as its interrupt is.
  end_run(thread, process.brake.signal_ns());
  if (thread->parking.on.load(std::memory_order_relaxed)) {
    fall_asleep(thread);
  } else if (!thread->tree_refused) {
    // A tick that could not be recorded stays due; asking for it at once would spin.
    arm(thread, done ? thread->grid.next() : time + thread->grid.period());
  }
}

/// A tick that the thread owes, and where it charges it.
struct Owed {
  Thread* thread;
  unwind::Registers start;
};

void take_owed(void* argument) {
  const auto* owed = static_cast<const Owed*>(argument);
  if (!begin_recording(owed->thread)) return;
  record_ticks(owed->thread, {owed->start, nullptr}, sampling_time(now()));
  end_recording(owed->thread);
}

/// Not inlined: the walk starts in this frame, which vanishes from the path as all of ours.
__attribute__((noinline)) void charge_owed(Thread* thread) {
  thread->owes_tick = false;
  if (!own_process() || sampling_stopped() || process.empty_handler) return;
  const int error = errno;
  Owed owed{.thread = thread, .start = unwind::registers_here()};
  on_handler_stack(thread, take_owed, &owed);
  errno = error;
}

/// A signal on its way from the kernel to the handler's own stack.
struct Delivery {
  Thread* thread;
  const siginfo_t* info;
  const void* context;
  bool taken;  ///< it was ours
};

/// True if a timer of this thread's sampling expired: the program may have timers on the same signal.
bool is_own_timer(const Thread* thread, const siginfo_t* info) {
  if (info->si_code != SI_TIMER) return false;
  const auto index = static_cast<std::size_t>(info->si_value.sival_int);
  if (index == kParkingTimer) return is_of_timer(thread->parking.timer, info->si_timerid);
  return index < process.events.count && is_of_timer(thread->timers[index], info->si_timerid);
}

void take_expiration(Thread* thread, const siginfo_t* info, const void* context) {
  const auto index = static_cast<std::size_t>(info->si_value.sival_int);
  count_own_switch(thread, context);
  if (index == kParkingTimer) {
    if (thread->parking.on.load(std::memory_order_relaxed)) take_tick(thread, context);
    return;
  }
  const Event& event = process.events.events[index];
  if (event.source == EventSource::realtime) {
    take_tick(thread, context);
  } else {
    charge(thread, index, (1 + static_cast<std::uint64_t>(info->si_overrun)) * event.period, context);
  }
}

void dispatch(Delivery& delivery) {
  if (is_own_timer(delivery.thread, delivery.info)) {
    take_expiration(delivery.thread, delivery.info, delivery.context);
    delivery.taken = true;
  } else if (delivery.info->si_code != SI_TIMER) {
    delivery.taken = take_overflow(delivery.thread, delivery.info, delivery.context);
  }
}

[[gnu::hot]] void take(void* argument) {
  auto* delivery = static_cast<Delivery*>(argument);
  Thread* thread = delivery->thread;
  begin_run(thread);
  dispatch(*delivery);
  end_run(thread, process.brake.signal_ns());
}

[[gnu::hot]] void handle(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  Delivery delivery{.thread = this_thread(), .info = info, .context = context, .taken = false};
  if (delivery.thread != nullptr) {
    move_to_handler_stack(delivery.thread, take, &delivery);
  } else {
    delivery.taken = is_overflow(info) || take_trial(info);  // sent before the thread's events ended
  }
  if (delivery.taken) {
    ++culprit_rt_thread.interruptions;
  } else {
    act_in_shadow(signal, info, context);
  }
  errno = saved_errno;
}

/// The first signal, from a place that other tools leave alone, for which nobody has a handler.
int free_signal() {
  for (int signal = SIGRTMIN + 13; signal < SIGRTMAX; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) return signal;
  }
  return 0;
}

}  // namespace

bool install_handler() {
  charge_owed_tick = charge_owed;
  process.signal = free_signal();
  if (process.signal == 0) return false;
  process.mask = mask_of(process.signal);
  struct sigaction action {};
  action.sa_sigaction = handle;
  // On the alternate stack where the program has one: its own stacks may be tiny then (Go's goroutines).
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  // No other handler may run, and perhaps jump away, in the middle of ours; faults stay deliverable.
  // sigfillset would leave out the C library's own signals, one of which cancels a thread wherever it is.
  set_mask(action.sa_mask, ~KernelMask{0});
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&action.sa_mask, fault);
  return set_own_action(process.signal, &action, nullptr) == 0;
}

}  // namespace culprit::runtime
