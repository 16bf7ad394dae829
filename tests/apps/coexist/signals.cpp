// Timers and signals.
#include "deeds.hpp"

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace coexist {
namespace {

volatile sig_atomic_t count[65];
volatile int value[65];

void receive(int signal, siginfo_t* info, void* /*context*/) {
  count[signal] = count[signal] + 1;
  value[signal] = info->si_value.sival_int;
}

void handle(int signal) {
  struct sigaction action {};
  action.sa_sigaction = receive;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(signal, &action, nullptr);
}

/// The three interval timers, as profilers use them.
void interval_timers() {
  const itimerval every{{0, 5000}, {0, 5000}};
  const int signals[] = {SIGALRM, SIGVTALRM, SIGPROF};
  const __itimer_which timers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
  for (int i = 0; i < 3; ++i) {
    handle(signals[i]);
    setitimer(timers[i], &every, nullptr);
  }
  for (int i = 0; i < 1000 && (count[SIGALRM] < 9 || count[SIGVTALRM] < 9 || count[SIGPROF] < 9); ++i)
    compute(10);
  for (const int signal : signals)
    say(std::string(sigabbrev_np(signal)) + (count[signal] > 8 ? " came" : " missing"));
}

/// A timer on every real-time signal, one of which is the sampler's.
void own_timers() {
  std::vector<timer_t> timers;
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    handle(signal);
    sigevent notify{};
    notify.sigev_notify = SIGEV_SIGNAL;
    notify.sigev_signo = signal;
    notify.sigev_value.sival_int = signal % 3;  // looks like an index of the sampler's events
    timer_t timer{};
    require(timer_create(CLOCK_MONOTONIC, &notify, &timer) == 0, "timer_create");
    timers.push_back(timer);
    const itimerspec once{{0, 0}, {0, 20'000'000}};
    timer_settime(timer, 0, &once, nullptr);
  }
  for (int i = 0; i < 1000; ++i) {
    compute(10);
    bool all = true;
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) all = all && count[signal] > 0;
    if (all) break;
  }
  for (const timer_t timer : timers) timer_delete(timer);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    if (count[signal] != 1 || value[signal] != signal % 3) say("wrong: " + std::to_string(signal));
  }
  say("all timers expired once");
}

/// Every signal gets a handler, is read back, sent, and reset.
void all_signals() {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP || (signal >= 32 && signal < SIGRTMIN)) continue;
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    handle(signal);
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    const bool kept = now.sa_sigaction == receive && before.sa_handler == SIG_DFL;
    sigval sent{};
    sent.sival_int = signal;
    sigqueue(getpid(), signal, sent);
    compute(1);
    if (!kept || count[signal] != 1 || value[signal] != signal) say("wrong: " + std::to_string(signal));
    if (::signal(signal, SIG_DFL) == SIG_ERR) say("not reset: " + std::to_string(signal));
  }
  say("all signals came once");
}

/// Blocked signals stay pending, are read back from the mask, and come when unblocked.
void blocked_signals() {
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) handle(signal);
  sigset_t all;
  sigset_t before;
  sigset_t pending;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  std::thread([] {
    sigset_t inherited;
    pthread_sigmask(SIG_SETMASK, nullptr, &inherited);
    int missing = 0;
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) missing += sigismember(&inherited, signal) != 1;
    say("not inherited: " + std::to_string(missing));
    compute(20);
  }).join();
  compute(50);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) pthread_kill(pthread_self(), signal);
  compute(50);
  sigpending(&pending);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    if (sigismember(&before, signal) != 0 || sigismember(&pending, signal) != 1 || count[signal] != 0) {
      say("wrong: " + std::to_string(signal));
    }
  }
  sigset_t set;
  sigprocmask(SIG_SETMASK, &before, &set);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    if (sigismember(&set, signal) != 1 || count[signal] != 1) say("not come: " + std::to_string(signal));
  }
  say("all signals came when unblocked");
}

/// A real-time signal without a handler ends the process.
void deadly_signals() {
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    const pid_t child = fork();
    if (child == 0) {
      compute(5);
      raise(signal);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != signal) say("survived: " + std::to_string(signal));
  }
  say("all signals were deadly");
}

/// All signals blocked for good, as servers do that wait for them in one thread.
void wait_for_all() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::thread worker([] { compute(100); });
  const pid_t self = getpid();
  std::thread sender([self] {
    compute(100);
    kill(self, SIGHUP);
    compute(50);
    kill(self, SIGTERM);
  });
  for (int signal = 0; signal != SIGTERM;) {
    require(sigwait(&all, &signal) == 0, "sigwait");
    say(sigabbrev_np(signal));
  }
  worker.join();
  sender.join();
}

constexpr int kDeadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
sigjmp_buf back;
volatile char* volatile nowhere = nullptr;

void jump_back(int /*signal*/) {
  siglongjmp(back, 1);
}

void die_by_default(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

/// Runs `crash` in a child and says how that ended.
template <typename Crash>
void watch(const char* name, Crash crash) {
  const pid_t child = fork();
  if (child == 0) {
    crash();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  say(std::string(name) + ": " +
      (WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : std::to_string(WEXITSTATUS(status))));
}

/// What a program sees of its deadly signals, and how it dies by them.
void crashes() {
  compute(50);
  for (const int signal : kDeadly) {
    struct sigaction action {};
    action.sa_flags = SA_RESTART;
    sigaction(signal, nullptr, &action);
    require(action.sa_handler == SIG_DFL && action.sa_flags == 0, "the default action");
    require(std::signal(signal, jump_back) == SIG_DFL && std::signal(signal, SIG_DFL) == jump_back,
            "the handler before");
  }
  std::signal(SIGSEGV, jump_back);
  int recovered = 0;
  for (int i = 0; i < 100; ++i) {
    if (sigsetjmp(back, 1) != 0)
      ++recovered;
    else
      *nowhere = 1;
  }
  std::signal(SIGSEGV, SIG_DFL);
  say("recovered " + std::to_string(recovered) + " times");
  for (const int signal : kDeadly) watch(sigabbrev_np(signal), [signal] { raise(signal); });
  watch("sent", [] { kill(getpid(), SIGSEGV); });
  watch("null", [] { *nowhere = 1; });
  watch("trap", [] { __builtin_trap(); });
  watch("abort", [] { std::abort(); });
  watch("by a handler", [] {
    std::signal(SIGSEGV, die_by_default);
    *nowhere = 1;
  });
  watch("in a thread", [] { std::thread([] { *nowhere = 1; }).join(); });
  watch("in several threads", [] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([] { *nowhere = 1; });
    for (std::thread& thread : threads) thread.join();
  });
  watch("while the process ends", [] {
    std::thread([] { *nowhere = 1; }).detach();
    compute(50);
    _exit(0);
  });
  watch("blocked", [] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    *nowhere = 1;
  });
  watch("ignored", [] {
    std::signal(SIGSEGV, SIG_IGN);
    raise(SIGSEGV);
  });
}

}  // namespace

std::vector<Deed> signals() {
  return {{"interval-timers", interval_timers},
          {"own-timers", own_timers},
          {"crashes", crashes},
          {"all-signals", all_signals},
          {"blocked-signals", blocked_signals},
          {"deadly-signals", deadly_signals},
          {"wait-for-all", wait_for_all}};
}

}  // namespace coexist
