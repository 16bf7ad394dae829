#include "runtime/sampling/full_queue.hpp"

#include "runtime/recording/refusals.hpp"
#include "runtime/state/process.hpp"

#include <atomic>

namespace culprit::runtime {
namespace {

std::atomic<bool> guarding{false};
std::atomic<Sigaction> real_sigaction{nullptr};

/// What SIGIO does where nobody handles it.
void end_by(int signal) {
  struct sigaction standard {};
  real_sigaction.load(std::memory_order_relaxed)(signal, &standard, nullptr);
  system_call(SYS_tgkill, process.pid, thread_id(), signal);  // pending until this handler returns
}

void handle(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code != SI_KERNEL) {
    end_by(signal);
    return;
  }
  // The counter that was meant stays silent: it is not known which.
  for (std::size_t i = 0; i < process.events.count; ++i) {
    const EventSource source = process.events.events[i].source;
    if (source == EventSource::kernel || source == EventSource::papi)
      event_failed(i, "the queue of signals was full (ulimit -i)");
  }
}

bool is_guard(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle;
}

struct sigaction guard() {
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  return action;
}

}  // namespace

void guard_against_full_queue() {
  guarding.store(true, std::memory_order_relaxed);
  struct sigaction action {};
  // Through our own sigaction: what is the default action becomes the guard.
  if (sigaction(SIGIO, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
      action.sa_handler == SIG_DFL) {
    sigaction(SIGIO, &action, nullptr);
  }
}

bool change_guarded(Sigaction real, int signal, const struct sigaction* action, struct sigaction* before,
                    int& result) {
  if (signal != SIGIO || !guarding.load(std::memory_order_relaxed)) return false;
  real_sigaction.store(real, std::memory_order_relaxed);
  const bool standard =
      action != nullptr && (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_DFL;
  const struct sigaction guarded = guard();
  result = real(signal, standard ? &guarded : action, before);
  if (before != nullptr && is_guard(*before)) *before = {};
  return true;
}

}  // namespace culprit::runtime
