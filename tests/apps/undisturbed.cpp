// Works, exchanges signals and makes blocking calls until standard input ends, and says whether all of that
// was as if nobody had looked on: tests/integration/test_stacks.py stops its threads meanwhile, again and
// again.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <linux/aio_abi.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> over = false;
std::atomic<std::uint64_t> sent = 0, received = 0;

void count(int, siginfo_t* info, void*) {
  received += static_cast<std::uint64_t>(info->si_value.sival_int);
}

/// A call that blocks, and returns after some time without an error, or with the one that says that the time
/// is over.
struct Call {
  std::string name;
  std::function<long()> make;
  int time_over = 0;  ///< errno
  int least_ms = 0;   ///< it may not return before
  std::uint64_t calls = 0, errors = 0, early = 0;
  int error = 0;
};

constexpr int kTimeMs = 60;
const timespec kTime = {0, kTimeMs * 1'000'000};

/// A descriptor that can be read every `kTimeMs`.
int ticking() {
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const itimerspec every = {kTime, kTime};
  timerfd_settime(timer, 0, &every, nullptr);
  return timer;
}

int polled(int descriptor) {
  const int set = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  if (descriptor >= 0) epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
  return set;
}

long drain(int descriptor, long result) {
  std::uint64_t ticks = 0;
  const int error = errno;
  if (result > 0 && read(descriptor, &ticks, sizeof ticks) < 0) return -1;
  errno = error;
  return result;
}

std::vector<Call> calls_of_threads() {
  std::vector<Call> calls;
  const auto add = [&](const char* name, std::function<long()> make, int time_over = 0, int least_ms = 0) {
    calls.push_back({name, std::move(make), time_over, least_ms});
  };
  add(
      "nanosleep", [] { return nanosleep(&kTime, nullptr); }, 0, kTimeMs);
  add(
      "clock_nanosleep",
      [] {
        errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &kTime, nullptr);
        return errno == 0 ? 0 : -1;
      },
      0, kTimeMs);
  add(
      "poll", [] { return poll(nullptr, 0, kTimeMs); }, 0, kTimeMs);
  add(
      "select",
      [] {
        timeval time = {0, kTimeMs * 1000};
        return select(0, nullptr, nullptr, nullptr, &time);
      },
      0, kTimeMs);
  add("read_inotify", [watch = inotify_init1(0)]() -> long {
    // What is watched changes after a while.
    const std::string name = "/tmp/culprit-watched-" + std::to_string(getpid());
    inotify_add_watch(watch, "/tmp", IN_CREATE);
    std::thread maker([&name] {
      nanosleep(&kTime, nullptr);
      FILE* const file = std::fopen(name.c_str(), "w");
      if (file != nullptr) std::fclose(file);
      unlink(name.c_str());
    });
    alignas(8) char events[4096];
    const long result = read(watch, events, sizeof events);
    const int error = errno;
    maker.join();
    errno = error;
    return result;
  });
  add("read", [timer = ticking()] {
    std::uint64_t ticks;
    return read(timer, &ticks, sizeof ticks);
  });
  add("epoll_wait", [timer = ticking(), set = -1]() mutable {
    if (set < 0) set = polled(timer);
    epoll_event event;
    return drain(timer, epoll_wait(set, &event, 1, -1));
  });
  add(
      "epoll_wait_limited",
      [set = polled(-1)] {
        epoll_event event;
        return epoll_wait(set, &event, 1, kTimeMs);
      },
      0, kTimeMs);
  add(
      "semtimedop",
      [set = semget(IPC_PRIVATE, 1, 0600)] {
        sembuf take = {0, -1, 0};
        return semtimedop(set, &take, 1, &kTime);
      },
      EAGAIN, kTimeMs);
  add("semop", [set = semget(IPC_PRIVATE, 1, 0600)] {
    std::thread giver([set] {
      nanosleep(&kTime, nullptr);
      sembuf give = {0, 1, 0};
      semop(set, &give, 1);
    });
    sembuf take = {0, -1, 0};
    const long result = semop(set, &take, 1);
    const int error = errno;
    giver.join();
    errno = error;
    return result;
  });
  add(
      "sigtimedwait",
      [] {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        return sigtimedwait(&set, nullptr, &kTime);
      },
      EAGAIN, kTimeMs);
  add("msgrcv", [queue = msgget(IPC_PRIVATE, 0600)] {
    struct {
      long type;
      char text[8];
    } message = {1, {}};
    std::thread sender([queue, message] {
      nanosleep(&kTime, nullptr);
      msgsnd(queue, &message, sizeof message.text, 0);
    });
    const long result = msgrcv(queue, &message, sizeof message.text, 0, 0);
    const int error = errno;
    sender.join();
    errno = error;
    return result;
  });
  add(
      "sem_timedwait",
      [] {
        static sem_t semaphore;
        timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += kTime.tv_nsec;
        if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
        return sem_timedwait(&semaphore, &until);
      },
      ETIMEDOUT);
  add(
      "io_getevents",
      [context = aio_context_t{}]() mutable {
        if (context == 0 && syscall(SYS_io_setup, 8, &context) != 0)
          return syscall(SYS_nanosleep, &kTime, nullptr);
        io_event event;
        timespec time = kTime;
        return syscall(SYS_io_getevents, context, 1, 1, &event, &time);
      },
      0, kTimeMs);
  add(
      "recv",
      [] {
        static int pair[2];
        static const int made = socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
        timeval time = {0, kTimeMs * 1000};
        setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
        char byte;
        return made != 0 ? -1 : recv(pair[0], &byte, 1, 0);
      },
      EAGAIN);
  add("ppoll", [timer = ticking()] {
    pollfd one = {timer, POLLIN, 0};
    return drain(timer, ppoll(&one, 1, nullptr, nullptr));
  });
  return calls;
}

void repeat(Call& call) {
  while (!over) {
    const auto begin = Clock::now();
    const long result = call.make();
    const int error = errno;
    ++call.calls;
    if (result < 0 && error != call.time_over) {
      ++call.errors;
      call.error = error;
    } else if (Clock::now() - begin <
               std::chrono::milliseconds(call.least_ms) - std::chrono::milliseconds(1)) {
      ++call.early;
    }
  }
}

/// Each signal is queued, and none may be lost.
void send_signals() {
  for (int i = 1; !over; i = i % 1000 + 1) {
    sigval value{};
    value.sival_int = i;
    if (sigqueue(getpid(), SIGRTMIN + 3, value) == 0) sent += static_cast<std::uint64_t>(i);
    const timespec pause = {0, 200'000};
    nanosleep(&pause, nullptr);
  }
}

/// Signals that are ignored, to threads in calls: without a tracer the kernel drops them.
void send_ignored_signals(const std::vector<pthread_t>& threads) {
  while (!over) {
    for (const pthread_t thread : threads) {
      pthread_kill(thread, SIGWINCH);
      pthread_kill(thread, SIGCHLD);
    }
    const timespec pause = {0, 500'000};
    nanosleep(&pause, nullptr);
  }
}

/// The same figure over and over; a register that was changed would show.
std::uint64_t wrong = 0, rounds = 0;
[[gnu::noinline]] std::uint64_t mixed() {
  std::uint64_t value = 1;
  for (int i = 0; i < 200'000; ++i) value = value * 6364136223846793005U + 1442695040888963407U;
  return value;
}
void work(std::uint64_t expected) {
  while (!over) {
    ++rounds;
    if (mixed() != expected) ++wrong;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool with_signals = argc > 1 && std::strcmp(argv[1], "signals") == 0;
  sigset_t set, none;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 3);
  sigemptyset(&none);
  struct sigaction action {};
  action.sa_sigaction = count;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGRTMIN + 3, &action, nullptr);
  const std::uint64_t expected = mixed();
  std::vector<std::thread> threads;
  threads.emplace_back(work, expected);  // takes the signals, among others
  if (with_signals) threads.emplace_back(send_signals);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // a handler ends calls of others
  std::vector<Call> calls = calls_of_threads();
  std::vector<pthread_t> in_calls;
  for (Call& call : calls) {
    threads.emplace_back(repeat, std::ref(call));
    in_calls.push_back(threads.back().native_handle());
  }
  std::thread ignored;  // ends before the threads that it sends to
  if (with_signals) ignored = std::thread(send_ignored_signals, std::cref(in_calls));
  std::puts("ready");
  std::fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  over = true;
  if (ignored.joinable()) ignored.join();
  for (std::thread& thread : threads) thread.join();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // those that are left
  for (const Call& call : calls)
    std::printf("call %s %llu %llu %llu %s\n", call.name.c_str(), static_cast<unsigned long long>(call.calls),
                static_cast<unsigned long long>(call.errors), static_cast<unsigned long long>(call.early),
                call.error == 0 ? "-" : strerrorname_np(call.error));
  std::printf("signals %llu %llu\nwork %llu %llu\n", static_cast<unsigned long long>(sent),
              static_cast<unsigned long long>(received), static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(wrong));
  return sent == received && wrong == 0 ? 0 : 1;
}
