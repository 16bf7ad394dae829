// Children, locks, files and events; and calls by number.
#include "ends.hpp"

#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <aio.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

namespace blocking {

namespace {

constexpr milliseconds kHeld{20'000};  // a lock that is never to be had

/// A child that ends with this process at the latest.
pid_t start_child() {
  const pid_t made = fork();
  require(made >= 0, "fork");
  if (made == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return made;
}

/// A child that exits late, or after nobody waits any more.
pid_t child(bool soon) {
  const pid_t made = start_child();
  if (made == 0) {
    if (soon) {
      usleep(60'000);
    } else {
      sleep(kLong.tv_sec);
    }
    _exit(5);
  }
  return made;
}

/// A file that a child holds locked for a while.
int locked_file(bool record, milliseconds held) {
  char name[] = "/tmp/blocking-XXXXXX";
  const int file = mkstemp(name);
  require(file >= 0, "mkstemp");
  const Ends ready = make_pipe();
  if (start_child() == 0) {
    const int own = open(name, O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    const int failed = record ? fcntl(own, F_SETLK, &lock) : flock(own, LOCK_EX);
    if (failed != 0 || ::write(ready.out(), "1", 1) != 1) _exit(9);
    std::this_thread::sleep_for(held);
    _exit(0);
  }
  char byte = 0;
  while (read(ready.in(), &byte, 1) != 1) require(errno == EINTR, "wait for the lock's holder");
  unlink(name);
  return file;
}

Outcome lock_record(int file) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  return plain(fcntl(file, F_SETLKW, &lock));
}

char room[64];

/// A mask of signals as system calls without a word to spare for its size take it.
struct PassedMask {
  const void* mask;
  std::size_t size;
};

}  // namespace

std::vector<Row> others() {
  const auto fill_from = [](const char* device) {
    std::vector<char> bytes(64 * kLarge);
    return plain(read(open(device, O_RDONLY), bytes.data(), bytes.size()));
  };
  const auto by_aio = [](const timespec* time) {
    static aiocb request{};
    request.aio_fildes = make_pipe().in();
    request.aio_buf = room;
    request.aio_nbytes = 1;
    require(aio_read(&request) == 0, "aio_read");
    const aiocb* list[] = {&request};
    return plain(aio_suspend(list, 1, time));
  };
  return {
      {Kind::timed, "aio_suspend", [=] { return by_aio(&kShort); }},
      {Kind::timed, "timerfd",
       [] {
         const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
         const itimerspec once{{0, 0}, kShort};
         timerfd_settime(timer, 0, &once, nullptr);
         std::uint64_t count = 0;
         return plain(read(timer, &count, sizeof count));
       }},
      {Kind::timed, "pthread_cond_timedwait",
       [] {
         std::mutex mutex;
         std::condition_variable condition;
         std::unique_lock lock(mutex);
         const bool met = condition.wait_for(lock, std::chrono::nanoseconds(kLimit), [] { return false; });
         return Outcome{met ? 1 : 0, 0};
       }},
      {Kind::timed, "pthread_mutex_timedlock",
       [] {
         static std::timed_mutex mutex;
         std::thread([] { mutex.lock(); }).join();
         return Outcome{mutex.try_lock_for(std::chrono::nanoseconds(kLimit)) ? 1 : 0, 0};
       }},
      {Kind::broken, "aio_suspend", [=] { return by_aio(&kLong); }},
      {Kind::broken, "waitpid",
       [] {
         const pid_t made = child(false);
         const Outcome outcome = plain(waitpid(made, nullptr, 0));
         kill(made, SIGKILL);
         return outcome;
       }},
      {Kind::broken, "flock", [] { return plain(flock(locked_file(false, kHeld), LOCK_EX)); }},
      {Kind::broken, "fcntl", [] { return lock_record(locked_file(true, kHeld)); }},
      {Kind::broken, "read from a pipe", [] { return plain(read(make_pipe().in(), room, 16)); }},
      {Kind::complete, "waitpid",
       [] {
         int status = 0;
         const pid_t made = child(true);
         return Outcome{waitpid(made, &status, 0) == made ? WEXITSTATUS(status) : -1, 0};
       }},
      {Kind::complete, "waitid",
       [] {
         siginfo_t info{};
         const Outcome outcome = plain(waitid(P_PID, static_cast<id_t>(child(true)), &info, WEXITED));
         return Outcome{outcome.result * 100 + info.si_status, outcome.error};
       }},
      {Kind::complete, "system",
       [] {
         return Outcome{WEXITSTATUS(system("sleep 0.1; exit 4")), 0};
       }},
      {Kind::complete, "flock", [] { return plain(flock(locked_file(false, milliseconds(100)), LOCK_EX)); }},
      {Kind::complete, "fcntl", [] { return lock_record(locked_file(true, milliseconds(100))); }},
      {Kind::complete, "atomic wait",
       [] {
         static std::atomic<int> value{0};
         after(kLate, [] {
           value = 7;
           value.notify_all();
         });
         value.wait(0);
         return Outcome{value, 0};
       }},
      {Kind::complete, "eventfd",
       [] {
         const int event = eventfd(0, 0);
         after(kLate, [event] { eventfd_write(event, 3); });
         eventfd_t count = 0;
         return Outcome{eventfd_read(event, &count) * 100 + static_cast<long>(count), 0};
       }},
      {Kind::complete, "pthread_join",
       [] {
         std::thread late([] { std::this_thread::sleep_for(kLate); });
         late.join();
         return Outcome{0, 0};
       }},
      {Kind::complete, "read much from /dev/zero", [=] { return fill_from("/dev/zero"); }},
      {Kind::complete, "read much from /dev/urandom", [=] { return fill_from("/dev/urandom"); }},
      {Kind::complete, "pread much from /dev/zero",
       [] {
         std::vector<char> bytes(64 * kLarge);
         return plain(pread(open("/dev/zero", O_RDONLY), bytes.data(), bytes.size(), 0));
       }},
      {Kind::complete, "preadv much from /dev/urandom",
       [] {
         std::vector<char> bytes(64 * kLarge);
         const iovec part{bytes.data(), bytes.size()};
         return plain(preadv(open("/dev/urandom", O_RDONLY), &part, 1, 0));
       }},
      {Kind::complete, "getrandom much",
       [] {
         std::vector<char> bytes(16 * kLarge);
         return plain(getrandom(bytes.data(), bytes.size(), 0));
       }},
  };
}

std::vector<Row> numbered() {
  static const std::uint64_t none = 0;
  static int word = 0;
  return {
      {Kind::timed, "syscall nanosleep", [] { return plain(syscall(SYS_nanosleep, &kShort, nullptr)); }},
      {Kind::timed, "syscall ppoll with mask",
       [] {
         timespec time = kShort;
         return plain(syscall(SYS_ppoll, nullptr, 0, &time, &none, sizeof none));
       }},
      {Kind::timed, "syscall epoll_pwait with mask",
       [] {
         epoll_event event{};
         return plain(syscall(SYS_epoll_pwait, epoll_create1(0), &event, 1, 60, &none, sizeof none));
       }},
      {Kind::timed, "syscall futex",
       [] { return plain(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &kShort)); }},
      {Kind::timed, "syscall io_getevents",
       [] {
         aio_context_t context = 0;
         require(syscall(SYS_io_setup, 1, &context) == 0, "io_setup");
         io_event event{};
         timespec time = kShort;
         return plain(syscall(SYS_io_getevents, context, 1, 1, &event, &time));
       }},
      {Kind::timed, "syscall pselect6 with mask",
       [] {
         timespec time = kShort;
         const PassedMask mask{&none, sizeof none};
         return plain(syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, &time, &mask));
       }},
      {Kind::timed, "syscall epoll_pwait2 with mask",
       [] {
         epoll_event event{};
         return plain(syscall(SYS_epoll_pwait2, epoll_create1(0), &event, 1, &kShort, &none, sizeof none));
       }},
      {Kind::timed, "syscall rt_sigtimedwait for all",
       [] {
         sigset_t all;
         sigfillset(&all);
         sigprocmask(SIG_BLOCK, &all, nullptr);
         return plain(syscall(SYS_rt_sigtimedwait, &all, nullptr, &kShort, sizeof none));
       }},
      {Kind::timed, "syscall io_pgetevents with mask",
       [] {
         aio_context_t context = 0;
         require(syscall(SYS_io_setup, 1, &context) == 0, "io_setup");
         io_event event{};
         timespec time = kShort;
         const PassedMask mask{&none, sizeof none};
         return plain(syscall(SYS_io_pgetevents, context, 1, 1, &event, &time, &mask));
       }},
      {Kind::broken, "syscall rt_sigsuspend",
       [] {
         sigset_t alarm;
         sigemptyset(&alarm);
         sigaddset(&alarm, SIGALRM);
         sigprocmask(SIG_BLOCK, &alarm, nullptr);
         return plain(syscall(SYS_rt_sigsuspend, &none, sizeof none));
       }},
      {Kind::broken, "syscall flock",
       [] { return plain(syscall(SYS_flock, locked_file(false, kHeld), LOCK_EX)); }},
      {Kind::broken, "syscall nanosleep", [] { return plain(syscall(SYS_nanosleep, &kLong, nullptr)); }},
      {Kind::broken, "syscall futex",
       [] { return plain(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &kLong)); }},
      {Kind::complete, "syscall read much from /dev/zero",
       [] {
         std::vector<char> bytes(64 * kLarge);
         return plain(syscall(SYS_read, open("/dev/zero", O_RDONLY), bytes.data(), bytes.size()));
       }},
      {Kind::complete, "syscall pread much from /dev/zero",
       [] {
         std::vector<char> bytes(64 * kLarge);
         return plain(syscall(SYS_pread64, open("/dev/zero", O_RDONLY), bytes.data(), bytes.size(), 0));
       }},
      {Kind::complete, "syscall getrandom much",
       [] {
         std::vector<char> bytes(16 * kLarge);
         return plain(syscall(SYS_getrandom, bytes.data(), bytes.size(), 0));
       }},
      {Kind::complete, "syscall flock",
       [] { return plain(syscall(SYS_flock, locked_file(false, milliseconds(100)), LOCK_EX)); }},
      {Kind::complete, "syscall pread64",  // six arguments or fewer, and an error, pass through
       [] { return plain(syscall(SYS_pread64, -1, room, 1, 0)); }},
      {Kind::complete, "syscall mmap",
       [] {
         const long at = syscall(SYS_mmap, nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return Outcome{at == -1 ? -1 : 0, 0};
       }},
  };
}

Outcome bare_system_call() {
  const timespec length{0, 200'000'000};
  long result = SYS_nanosleep;
  __asm__ volatile("syscall" : "+a"(result) : "D"(&length), "S"(nullptr) : "rcx", "r11", "memory");
  return {result, 0};
}

}  // namespace blocking
