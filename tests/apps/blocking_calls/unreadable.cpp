// Calls whose times, masks and lists of pieces the kernel cannot read: it says so, and none of them waits.
#include "ends.hpp"

#include <csignal>
#include <cstdint>

#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace blocking {

namespace {

constexpr std::size_t kPage = 4096;

/// Where a readable page ends and one begins that is not.
char* end_of_readable() {
  static char* const end = [] {
    void* const pages = mmap(nullptr, 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(pages != MAP_FAILED && mprotect(pages, kPage, PROT_READ | PROT_WRITE) == 0, "mmap");
    return static_cast<char*>(pages) + kPage;
  }();
  return end;
}

/// Of which the first half can be read.
template <typename Type>
Type* cut_off() {
  return reinterpret_cast<Type*>(end_of_readable() - sizeof(Type) / 2);
}

const sigset_t* no_mask() {
  return reinterpret_cast<const sigset_t*>(end_of_readable());
}

/// As pselect6 and io_pgetevents take a mask.
struct PassedMask {
  const void* mask;
  std::size_t size;
};

constexpr std::size_t kMask = sizeof(std::uint64_t);

aio_context_t make_context() {
  aio_context_t context = 0;
  require(syscall(SYS_io_setup, 1, &context) == 0, "io_setup");
  return context;
}

std::vector<Row> by_name() {
  return {
      {Kind::complete, "nanosleep, unreadable time",
       [] { return plain(nanosleep(cut_off<timespec>(), nullptr)); }},
      {Kind::complete, "clock_nanosleep, unreadable time",
       [] { return code(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, cut_off<timespec>(), nullptr)); }},
      {Kind::complete, "semtimedop, unreadable time",
       [] {
         sembuf take{0, -1, 0};
         return plain(semtimedop(semget(IPC_PRIVATE, 1, 0600), &take, 1, cut_off<timespec>()));
       }},
      {Kind::complete, "sigtimedwait, unreadable time",
       [] {
         sigset_t none;
         sigemptyset(&none);
         return plain(sigtimedwait(&none, nullptr, cut_off<timespec>()));
       }},
      {Kind::complete, "sigwaitinfo, unreadable set", [] { return plain(sigwaitinfo(no_mask(), nullptr)); }},
      {Kind::complete, "sigsuspend, unreadable mask", [] { return plain(sigsuspend(no_mask())); }},
      {Kind::complete, "signalfd, unreadable mask", [] { return plain(signalfd(-1, no_mask(), 0)); }},
      {Kind::complete, "ppoll, unreadable mask", [] { return plain(ppoll(nullptr, 0, &kLong, no_mask())); }},
      {Kind::complete, "pselect, unreadable mask",
       [] { return plain(pselect(0, nullptr, nullptr, nullptr, &kLong, no_mask())); }},
      {Kind::complete, "epoll_pwait, unreadable mask",
       [] {
         epoll_event event{};
         return plain(epoll_pwait(epoll_create1(0), &event, 1, -1, no_mask()));
       }},
      {Kind::complete, "epoll_pwait2, unreadable time",
       [] {
         epoll_event event{};
         return plain(epoll_pwait2(epoll_create1(0), &event, 1, cut_off<timespec>(), nullptr));
       }},
      {Kind::complete, "readv, unreadable pieces",
       [] { return plain(readv(make_pipe().in(), cut_off<iovec>(), 1)); }},
      {Kind::complete, "writev, unreadable pieces",
       [] { return plain(writev(make_pipe().out(), cut_off<iovec>(), 1)); }},
      {Kind::complete, "writev, too many pieces",
       [] { return plain(writev(make_pipe().out(), cut_off<iovec>() - 1, 1 << 20)); }},
      {Kind::timed, "ppoll, the kernel's part of a mask",
       [] {
         return plain(
             ppoll(nullptr, 0, &kShort, reinterpret_cast<const sigset_t*>(end_of_readable() - kMask)));
       }},
  };
}

std::vector<Row> by_number() {
  static int word = 0;
  return {
      {Kind::complete, "syscall nanosleep, unreadable time",
       [] { return plain(syscall(SYS_nanosleep, cut_off<timespec>(), nullptr)); }},
      {Kind::complete, "syscall futex, unreadable time",
       [] { return plain(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, cut_off<timespec>())); }},
      {Kind::complete, "syscall select, unreadable time",
       [] { return plain(syscall(SYS_select, 0, nullptr, nullptr, nullptr, cut_off<timeval>())); }},
      {Kind::complete, "syscall ppoll, unreadable time",
       [] { return plain(syscall(SYS_ppoll, nullptr, 0, cut_off<timespec>(), nullptr, kMask)); }},
      {Kind::complete, "syscall ppoll, unreadable mask",
       [] { return plain(syscall(SYS_ppoll, nullptr, 0, nullptr, no_mask(), kMask)); }},
      {Kind::complete, "syscall ppoll, mask at 1",
       [] { return plain(syscall(SYS_ppoll, nullptr, 0, nullptr, 1, kMask)); }},
      {Kind::complete, "syscall epoll_pwait, unreadable mask",
       [] {
         epoll_event event{};
         return plain(syscall(SYS_epoll_pwait, epoll_create1(0), &event, 1, -1, no_mask(), kMask));
       }},
      {Kind::complete, "syscall rt_sigsuspend, unreadable mask",
       [] { return plain(syscall(SYS_rt_sigsuspend, no_mask(), kMask)); }},
      {Kind::complete, "syscall rt_sigtimedwait, unreadable set",
       [] { return plain(syscall(SYS_rt_sigtimedwait, no_mask(), nullptr, nullptr, kMask)); }},
      {Kind::complete, "syscall pselect6, unreadable place of a mask",
       [] {
         return plain(syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, nullptr, cut_off<PassedMask>()));
       }},
      {Kind::complete, "syscall pselect6, unreadable mask",
       [] {
         const PassedMask mask{no_mask(), kMask};
         return plain(syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, nullptr, &mask));
       }},
      {Kind::complete, "syscall io_pgetevents, unreadable mask",
       [] {
         io_event event{};
         const PassedMask mask{no_mask(), kMask};
         return plain(syscall(SYS_io_pgetevents, make_context(), 1, 1, &event, nullptr, &mask));
       }},
  };
}

}  // namespace

std::vector<Row> unreadable() {
  std::vector<Row> rows = by_name();
  const std::vector<Row> numbered = by_number();
  rows.insert(rows.end(), numbered.begin(), numbered.end());
  return rows;
}

}  // namespace blocking
