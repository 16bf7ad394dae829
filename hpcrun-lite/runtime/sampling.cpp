#include "runtime/sampling.hpp"

#include "runtime/call_path.hpp"
#include "runtime/clock.hpp"
#include "runtime/modules.hpp"
#include "runtime/process.hpp"
#include "runtime/recording.hpp"
#include "runtime/shadow_action.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

namespace culprit::runtime {
namespace {

using measurement::SampleValues;
using measurement::WaitKind;

constexpr std::uint64_t kTimedHandler =
    16;  // reading the clock twice costs as much as a quarter of a short walk

/// What the handler learns from the kernel about one expiration.
struct Expiration {
  std::size_t event;
  std::uint64_t overruns;
  const void* context;
  std::uint64_t time;
};

/// The mark of the call that the interrupted code is in. A mark that a longjmp left behind lies deeper on the
/// stack than the code that now runs.
WaitKind current_mark(std::uint64_t sp) {
  const CulpritThread& shared = culprit_rt_thread;
  return sp < shared.marked_below ? static_cast<WaitKind>(shared.mark) : WaitKind::none;
}

void arm(Thread* thread, std::size_t event, std::uint64_t when) {
  const itimerspec expiry{.it_interval = {}, .it_value = to_timespec(when)};
  system_call(SYS_timer_settime, thread->timers[event], TIMER_ABSTIME, word(&expiry), 0);
}

/// Charges an expiration to its call path. False: not now, its weight is kept for the next one.
bool record(Thread* thread, const Expiration& expiration) {
  const Event& event = process.events.events[expiration.event];
  const bool wall = event.clock == EventClock::realtime;
  if (!ensure_tree(thread)) {
    if (!thread->tree_refused) return false;
    count_lost(wall ? thread->grid.pass(expiration.time) : 1 + expiration.overruns);
    return true;
  }
  const std::uint64_t weight =
      wall ? thread->grid.pass(expiration.time) : 1 + expiration.overruns + thread->carried;
  if (weight == 0) return true;
  const unwind::Registers start = unwind::registers_of(expiration.context);
  bool partial = false;
  const measurement::NodeIndex node = current_path(thread, start, partial);
  if (partial) thread->tree->count_partial(weight * event.period_ns);
  if (wall) {
    const std::uint64_t cpu = thread_cpu_time();
    thread->tree->record(node, SampleValues{.time_ns = weight * event.period_ns,
                                            .weight = weight,
                                            .cpu_ns = cpu - thread->last_cpu_ns,
                                            .blocked = thread->blocked_call,
                                            .mark = current_mark(start.sp)});
    thread->last_cpu_ns = cpu;
  } else {
    thread->tree->record_event(node, process.events.has_realtime() ? expiration.event - 1 : expiration.event,
                               weight * event.period_ns);
    thread->carried = 0;
  }
  return true;
}

bool record_in_time(Thread* thread, const Expiration& expiration) {
  const bool timed = ++thread->handled % kTimedHandler == 0;
  const std::uint64_t begin = timed ? thread_cpu_time() : 0;
  const bool done = record(thread, expiration);
  if (timed && thread->tree != nullptr)
    thread->tree->add_handler_time(kTimedHandler * (thread_cpu_time() - begin));
  return done;
}

/// One expiration from the kernel's signal to the next arming.
void take_sample(Thread* thread, const Expiration& expiration) {
  const bool wall = process.events.events[expiration.event].clock == EventClock::realtime;
  bool done = false;
  if (process.empty_handler) {
    if (wall) thread->grid.pass(expiration.time);
    done = true;
  } else if (begin_recording(thread)) {
    done = record_in_time(thread, expiration);
    end_recording(thread);
  }
  if (!done && !wall) thread->carried += 1 + expiration.overruns;
  // A tick that could not be recorded stays due; asking for it at once would spin.
  if (wall)
    arm(thread, expiration.event, done ? thread->grid.next() : expiration.time + thread->grid.period());
}

void handle(int signal, siginfo_t* info, void* context) {
  if (info->si_code != SI_TIMER) {
    act_in_shadow(signal, info, context);
    return;
  }
  Thread* thread = this_thread();
  if (thread == nullptr) return;
  const int saved_errno = errno;
  take_sample(thread, {.event = static_cast<std::size_t>(info->si_value.sival_int),
                       .overruns = static_cast<std::uint64_t>(info->si_overrun),
                       .context = context,
                       .time = now()});
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
  process.signal = free_signal();
  if (process.signal == 0) return false;
  process.mask = mask_of(process.signal);
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  // No other handler may run, and perhaps jump away, in the middle of ours; faults stay deliverable.
  sigfillset(&action.sa_mask);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&action.sa_mask, fault);
  return sigaction(process.signal, &action, nullptr) == 0;
}

void start_timers(Thread* thread) {
  for (std::size_t i = 0; i < process.events.count; ++i) {
    const Event& event = process.events.events[i];
    const bool wall = event.clock == EventClock::realtime;
    sigevent notify{};
    notify.sigev_notify = SIGEV_THREAD_ID;
    notify.sigev_signo = process.signal;
    notify.sigev_value.sival_int = static_cast<int>(i);
    notify._sigev_un._tid = thread->tid;
    int id = -1;
    const long failed = system_call(SYS_timer_create, wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID,
                                    word(&notify), word(&id));
    thread->timers[i] = failed == 0 ? id : -1;
    if (failed != 0) continue;
    if (wall) {
      thread->grid.start(thread->start_ns, event.period_ns,
                         thread->start_ns ^ (static_cast<std::uint64_t>(thread->tid) << 32));
      arm(thread, i, thread->grid.next());
    } else {
      const timespec period = to_timespec(event.period_ns);
      const itimerspec expiry{.it_interval = period, .it_value = period};
      system_call(SYS_timer_settime, id, 0, word(&expiry), 0);
    }
  }
}

void delete_timers(Thread* thread) {
  for (std::size_t i = 0; i < process.events.count; ++i) {
    if (thread->timers[i] >= 0) system_call(SYS_timer_delete, thread->timers[i]);
    thread->timers[i] = -1;
  }
}

}  // namespace culprit::runtime
