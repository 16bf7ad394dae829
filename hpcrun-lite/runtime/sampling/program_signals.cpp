// Handles a sampling signal that no event of ours sent as the program asked for: by its handler, by default,
// or not at all. If the program believes the signal blocked, that is made true and the signal sent again, so
// that it stays pending. Where counters send signals, SIGIO's default action is replaced, by which the kernel
// reports a full queue and which would end the program.
#include "runtime/sampling/program_signals.hpp"

#include "runtime/recording/refusals.hpp"
#include "runtime/state/process.hpp"
#include "runtime/system/c_library.hpp"

#include <atomic>

#include <ucontext.h>

namespace culprit::runtime {

constinit CULPRIT_REAL Real<int(int, const struct sigaction*, struct sigaction*)> real_sigaction{"sigaction"};

namespace {

/// What the program believes blocked in this thread, of our signals.
__attribute__((tls_model("initial-exec"))) __thread KernelMask blocked = 0;

struct sigaction shadows[2] = {};  // of our signal and of PAPI's; all zero is the default action

/// For a sampling signal that no event of ours sent, in a thread where the program believes that the number
/// is blocked: makes that true and sends the signal to the thread again, so that it stays pending until the
/// program unblocks it. Sampling of the thread pauses meanwhile. False: the program has not blocked it.
bool put_off(int signal, siginfo_t* info, void* context) {
  if ((blocked & mask_of(signal)) == 0) return false;
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  system_call(SYS_rt_tgsigqueueinfo, process_id(), thread_id(), signal, word(info));
  return true;
}

/// The default action of a real-time signal is to end the process. What comes late from an event of ours,
/// through the kernel, is no reason for that.
void act_by_default(int signal, const siginfo_t* info) {
  if (info->si_code == SI_TIMER || info->si_code > 0) return;
  struct sigaction action {};
  if (real_sigaction(signal, &action, nullptr) != 0) return;
  change_mask(SIG_UNBLOCK, mask_of(signal));
  system_call(SYS_tgkill, process_id(), thread_id(), signal);
}

}  // namespace

struct sigaction* shadow_of(int signal) {
  if (!process.active) return nullptr;
  if (signal == process.signal) return &shadows[0];
  return signal == process.papi_signal ? &shadows[1] : nullptr;
}

void act_in_shadow(int signal, siginfo_t* info, void* context) {
  if (put_off(signal, info, context)) return;
  const struct sigaction shadow = shadows[signal == process.signal ? 0 : 1];
  if ((shadow.sa_flags & static_cast<int>(SA_RESETHAND)) != 0)
    shadows[signal == process.signal ? 0 : 1].sa_handler = SIG_DFL;
  const sighandler_t handler = shadow.sa_handler;  // shares its place with sa_sigaction
  if (handler == SIG_DFL) {
    act_by_default(signal, info);
  } else if (handler != SIG_IGN && (shadow.sa_flags & SA_SIGINFO) != 0) {
    shadow.sa_sigaction(signal, info, context);
  } else if (handler != SIG_IGN) {
    handler(signal);
  }
}

KernelMask blocked_by_program() {
  return blocked;
}

void set_blocked_by_program(KernelMask believed) {
  blocked = believed;
}

namespace {

std::atomic<Guard> guards[NSIG];

bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

bool is_guard(int signal, const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 &&
         action.sa_sigaction == guards[signal].load(std::memory_order_relaxed);
}

struct sigaction guard_of(int signal) {
  struct sigaction action {};
  action.sa_sigaction = guards[signal].load(std::memory_order_relaxed);
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  return action;
}

}  // namespace

bool is_guarded(int signal) {
  return signal > 0 && signal < NSIG && guards[signal].load(std::memory_order_relaxed) != nullptr;
}

bool takes_default_action(int signal, const struct sigaction& action) {
  return is_default(action) || (is_guarded(signal) && is_guard(signal, action));
}

void guard_default_action(int signal, Guard guard) {
  struct sigaction action {};
  if (set_own_action(signal, nullptr, &action) != 0) return;
  guards[signal].store(guard, std::memory_order_relaxed);
  if (!is_default(action)) return;
  const struct sigaction guarded = guard_of(signal);
  set_own_action(signal, &guarded, nullptr);
}

void leave_default_action(int signal) {
  struct sigaction action {};
  if (!is_guarded(signal) || set_own_action(signal, nullptr, &action) != 0) return;
  const struct sigaction standard {};
  if (is_guard(signal, action)) set_own_action(signal, &standard, nullptr);
  // A child of vfork shares what its parent knows.
  if (own_process()) guards[signal].store(nullptr, std::memory_order_relaxed);
}

bool change_guarded(Sigaction real, int signal, const struct sigaction* action, struct sigaction* before,
                    int& result) {
  if (!is_guarded(signal)) return false;
  const struct sigaction guarded = guard_of(signal);
  result = real(signal, action != nullptr && is_default(*action) ? &guarded : action, before);
  if (result == 0 && before != nullptr && is_guard(signal, *before)) *before = {};
  return true;
}

void take_default_action(int signal, siginfo_t* info) {
  const struct sigaction standard {};
  set_own_action(signal, &standard, nullptr);
  // It is pending until the handler returns: what it interrupted need not bring it about again.
  system_call(SYS_rt_tgsigqueueinfo, process_id(), thread_id(), signal, word(info));
}

namespace {

void take_full_queue(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code != SI_KERNEL) {
    take_default_action(signal, info);
    return;
  }
  // The counter that was meant stays silent: it is not known which.
  for (std::size_t i = 0; i < process.events.count; ++i) {
    const EventSource source = process.events.events[i].source;
    if (source == EventSource::kernel || source == EventSource::papi)
      event_failed(i, "the queue of signals was full (ulimit -i)");
  }
}

}  // namespace

void guard_against_full_queue() {
  guard_default_action(SIGIO, take_full_queue);
}

}  // namespace culprit::runtime
