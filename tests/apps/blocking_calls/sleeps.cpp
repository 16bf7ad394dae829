// Sleeping, polling, and waiting for signals.
#include "ends.hpp"

#include <csignal>
#include <thread>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

// Second names that the C library exports, and no header declares.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" int __poll(pollfd* descriptors, nfds_t count, int timeout);
extern "C" int __nanosleep(const timespec* length, timespec* rest);
// NOLINTEND(bugprone-reserved-identifier)

namespace blocking {

namespace {

bool is_rest(const timespec& rest, const timespec& of) {
  return (rest.tv_sec > 0 || rest.tv_nsec > 0) && rest.tv_sec <= of.tv_sec;
}

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

void block(int signal) {
  const sigset_t set = only(signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

std::vector<Row> sleeping() {
  const auto until = [](clockid_t clock) {
    const timespec instant = later(clock, kShort);
    return code(clock_nanosleep(clock, TIMER_ABSTIME, &instant, nullptr));
  };
  return {
      {Kind::timed, "nanosleep", [] { return plain(nanosleep(&kShort, nullptr)); }},
      {Kind::timed, "__nanosleep", [] { return plain(__nanosleep(&kShort, nullptr)); }},
      {Kind::timed, "clock_nanosleep",
       [] { return code(clock_nanosleep(CLOCK_MONOTONIC, 0, &kShort, nullptr)); }},
      {Kind::timed, "clock_nanosleep until", [until] { return until(CLOCK_MONOTONIC); }},
      {Kind::timed, "clock_nanosleep until date", [until] { return until(CLOCK_REALTIME); }},
      {Kind::timed, "usleep", [] { return plain(usleep(kLimit / 1000)); }},
      {Kind::timed, "sleep",
       [] {
         return Outcome{sleep(1), 0};
       }},
      {Kind::timed, "thrd_sleep",
       [] {
         return Outcome{thrd_sleep(&kShort, nullptr), 0};
       }},
      {Kind::timed, "sleep_for",
       [] {
         std::this_thread::sleep_for(std::chrono::nanoseconds(kLimit));
         return Outcome{0, 0};
       }},
      {Kind::broken, "nanosleep",
       [] {
         timespec rest{};
         const Outcome outcome = plain(nanosleep(&kLong, &rest));
         return Outcome{outcome.result * 10 + (is_rest(rest, kLong) ? 1 : 0), outcome.error};
       }},
      {Kind::broken, "clock_nanosleep",
       [] {
         timespec rest{};
         const int error = clock_nanosleep(CLOCK_REALTIME, 0, &kLong, &rest);
         return Outcome{error * 10 + (is_rest(rest, kLong) ? 1 : 0), 0};
       }},
      {Kind::broken, "clock_nanosleep until",
       [] {
         const timespec instant = later(CLOCK_MONOTONIC, kLong);
         return code(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &instant, nullptr));
       }},
      {Kind::broken, "usleep", [] { return plain(usleep(900'000)); }},
      {Kind::broken, "sleep",
       [] {
         return Outcome{sleep(20) > 0 ? 1 : 0, 0};
       }},
      {Kind::broken, "thrd_sleep",
       [] {
         return Outcome{thrd_sleep(&kLong, nullptr), 0};
       }},
  };
}

/// Looks again and again without waiting: the first look that fails, or 0.
template <typename Look>
Outcome looks(Look look) {
  constexpr int kLooks = 200'000;
  for (int i = 0; i < kLooks; ++i) {
    if (const Outcome outcome = plain(look()); outcome.result != 0) return outcome;
  }
  return {0, 0};
}

/// The kernel looks at pending signals also where a poll does not wait.
std::vector<Row> looking() {
  static timespec none{};
  static timeval none_long{};
  static const pollfd asked{make_pipe().in(), POLLIN, 0};
  static const sigset_t mask{};
  return {
      {Kind::complete, "poll without waiting",
       [] {
         pollfd own = asked;
         return looks([&] { return poll(&own, 1, 0); });
       }},
      {Kind::complete, "ppoll without waiting",
       [] { return looks([] { return ppoll(nullptr, 0, &none, nullptr); }); }},
      {Kind::complete, "ppoll without waiting, with mask",
       [] { return looks([] { return ppoll(nullptr, 0, &none, &mask); }); }},
      {Kind::complete, "select without waiting",
       [] { return looks([] { return select(0, nullptr, nullptr, nullptr, &none_long); }); }},
      {Kind::complete, "pselect without waiting",
       [] { return looks([] { return pselect(0, nullptr, nullptr, nullptr, &none, nullptr); }); }},
      {Kind::complete, "syscall ppoll without waiting",
       [] { return looks([] { return syscall(SYS_ppoll, nullptr, 0, &none, nullptr, 0); }); }},
      {Kind::complete, "syscall pselect6 without waiting",
       [] {
         return looks([] { return syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, &none, nullptr); });
       }},
  };
}

std::vector<Row> polling() {
  const auto by_epoll = [](auto wait) {
    const int set = epoll_create1(0);
    epoll_event event{};
    return plain(wait(set, &event));
  };
  static const sigset_t none{};
  return {
      {Kind::timed, "poll", [] { return plain(poll(nullptr, 0, 60)); }},
      {Kind::timed, "__poll", [] { return plain(__poll(nullptr, 0, 60)); }},
      {Kind::timed, "ppoll", [] { return plain(ppoll(nullptr, 0, &kShort, nullptr)); }},
      {Kind::timed, "ppoll with mask", [] { return plain(ppoll(nullptr, 0, &kShort, &none)); }},
      {Kind::timed, "select",
       [] {
         timeval time{0, kLimit / 1000};
         const Outcome outcome = plain(select(0, nullptr, nullptr, nullptr, &time));
         return Outcome{outcome.result + time.tv_sec + time.tv_usec, outcome.error};
       }},
      {Kind::timed, "pselect", [] { return plain(pselect(0, nullptr, nullptr, nullptr, &kShort, nullptr)); }},
      {Kind::timed, "pselect with mask",
       [] { return plain(pselect(0, nullptr, nullptr, nullptr, &kShort, &none)); }},
      {Kind::timed, "epoll_wait",
       [=] { return by_epoll([](int set, epoll_event* event) { return epoll_wait(set, event, 1, 60); }); }},
      {Kind::timed, "epoll_pwait",
       [=] {
         return by_epoll([](int set, epoll_event* event) { return epoll_pwait(set, event, 1, 60, &none); });
       }},
      {Kind::timed, "epoll_pwait2",
       [=] {
         return by_epoll(
             [](int set, epoll_event* event) { return epoll_pwait2(set, event, 1, &kShort, nullptr); });
       }},
      {Kind::broken, "poll", [] { return plain(poll(nullptr, 0, 20'000)); }},
      {Kind::broken, "ppoll", [] { return plain(ppoll(nullptr, 0, nullptr, nullptr)); }},
      {Kind::broken, "ppoll with mask",
       [] {
         block(SIGALRM);
         return plain(ppoll(nullptr, 0, &kLong, &none));
       }},
      {Kind::broken, "select", [] { return plain(select(0, nullptr, nullptr, nullptr, nullptr)); }},
      {Kind::broken, "pselect with mask",
       [] {
         block(SIGALRM);
         return plain(pselect(0, nullptr, nullptr, nullptr, nullptr, &none));
       }},
      {Kind::broken, "epoll_wait",
       [=] { return by_epoll([](int set, epoll_event* event) { return epoll_wait(set, event, 1, -1); }); }},
      {Kind::broken, "epoll_pwait",
       [=] {
         block(SIGALRM);
         return by_epoll(
             [](int set, epoll_event* event) { return epoll_pwait(set, event, 1, 20'000, &none); });
       }},
      {Kind::broken, "epoll_pwait2",
       [=] {
         return by_epoll(
             [](int set, epoll_event* event) { return epoll_pwait2(set, event, 1, nullptr, nullptr); });
       }},
      {Kind::complete, "poll",
       [] {
         const Ends ends = make_pipe();
         supply(ends.out(), 1);
         pollfd asked{ends.in(), POLLIN, 0};
         const Outcome outcome = plain(poll(&asked, 1, -1));
         return Outcome{outcome.result * 1000 + asked.revents, outcome.error};
       }},
  };
}

std::vector<Row> waiting_for_signals() {
  const auto take = [](const timespec* time) {
    const sigset_t set = only(SIGALRM);
    block(SIGALRM);
    siginfo_t info{};
    return plain(time == nullptr ? sigwaitinfo(&set, &info) : sigtimedwait(&set, &info, time));
  };
  return {
      {Kind::timed, "sigtimedwait",
       [] {
         const sigset_t set = only(SIGUSR1);
         return plain(sigtimedwait(&set, nullptr, &kShort));
       }},
      {Kind::timed, "sigtimedwait for all",
       [] {
         sigset_t set;
         sigfillset(&set);
         sigprocmask(SIG_BLOCK, &set, nullptr);
         return plain(sigtimedwait(&set, nullptr, &kShort));
       }},
      {Kind::broken, "sigwaitinfo", [take] { return take(nullptr); }},
      {Kind::broken, "sigtimedwait", [take] { return take(&kLong); }},
      {Kind::broken, "sigwaitinfo for another",
       [] {
         const sigset_t set = only(SIGUSR1);
         return plain(sigwaitinfo(&set, nullptr));
       }},
      {Kind::broken, "sigwait for all",
       [] {
         sigset_t set;
         sigfillset(&set);
         sigprocmask(SIG_BLOCK, &set, nullptr);
         int signal = 0;
         const int error = sigwait(&set, &signal);
         return Outcome{signal, error};
       }},
      {Kind::broken, "pause", [] { return plain(pause()); }},
      {Kind::broken, "sigsuspend",
       [] {
         block(SIGALRM);
         sigset_t none;
         sigemptyset(&none);
         return plain(sigsuspend(&none));
       }},
      {Kind::broken, "sigpause",
       [] {
         block(SIGALRM);
         return plain(sigpause(SIGALRM));
       }},
      {Kind::broken, "signalfd of all",
       [] {
         sigset_t set;
         sigfillset(&set);
         sigprocmask(SIG_BLOCK, &set, nullptr);
         const int descriptor = signalfd(-1, &set, 0);
         signalfd_siginfo info{};
         const Outcome outcome = plain(read(descriptor, &info, sizeof info));
         return Outcome{outcome.result * 1000 + static_cast<long>(info.ssi_signo), outcome.error};
       }},
  };
}

}  // namespace blocking
