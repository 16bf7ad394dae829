// How a process is looked at without harm. PTRACE_SEIZE stops nothing and sends nothing; if this program
// dies, the kernel lets all threads go. PTRACE_INTERRUPT makes a thread stop at its way out of the kernel.
// Registers and the used part of the stack are copied, and the thread goes on. Files are opened and stacks
// are walked later. Few threads need more than the copy (walk.cpp): these are walked while they are stopped,
// when what walking needs has been read. A thread that a signal stops first gets it when it is let go, and
// one that SIGSTOP has stopped stays stopped: the kernel remembers.
#include "stacks/held_threads.hpp"

#include "stacks/processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <set>
#include <utility>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

namespace culprit::stacks {
namespace {

constexpr std::uint64_t kMicrosecond = 1'000, kMillisecond = 1'000'000;
/// How long a thread may take to stop that is not uninterruptible: it may wait for a processor.
constexpr std::uint64_t kPatience = 1'000 * kMillisecond;
/// One that is uninterruptible is not likely to come back soon.
constexpr std::uint64_t kPatienceAsleep = 20 * kMillisecond;
constexpr std::uint64_t kBetweenSoon = 20 * kMicrosecond, kBetweenLater = 500 * kMicrosecond;
/// Threads that are asked to stop at one time: the more, the longer the last one waits to be copied.
constexpr std::size_t kTogether = 32;
/// Bytes of copies that are kept before they are handed on.
constexpr std::size_t kMostCopies = std::size_t{64} << 20U;
/// How long late threads are waited for at the end: they may only lack a processor.
constexpr std::uint64_t kPatienceWithLate = 100 * kMillisecond;
constexpr int kTries = 5;
constexpr std::chrono::milliseconds kBetweenDead{5};
constexpr int kRounds = 2;  // the second one for threads that began meanwhile
/// Of a stack, from its pointer on: all that programs use but for those that recurse very deeply.
constexpr std::size_t kMostStack = std::size_t{1} << 20U;
constexpr unsigned kEventShift = 8;
constexpr int kSignalMask = 0x7f;

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void pause_for(std::uint64_t ns) {
  const timespec time{.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
                      .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

/// Calls that the kernel ends with EINTR when their thread is stopped, without having done anything:
/// signal(7), "Interruption of system calls and library functions by stop signals"; of sockets those with a
/// time limit.
bool may_restart(std::uint64_t call) {
  constexpr std::array<std::int64_t, 24> kCalls = {
      machine::kEpollWait, SYS_epoll_pwait,  SYS_epoll_pwait2,  SYS_semop,         SYS_semtimedop,
      SYS_rt_sigtimedwait, SYS_io_getevents, SYS_io_pgetevents, SYS_read,          SYS_readv,
      SYS_write,           SYS_writev,       SYS_recvfrom,      SYS_recvmsg,       SYS_recvmmsg,
      SYS_sendto,          SYS_sendmsg,      SYS_sendmmsg,      SYS_accept,        SYS_accept4,
      SYS_connect,         SYS_getrandom,    SYS_msgrcv,        SYS_io_uring_enter};
  return std::ranges::find(kCalls, static_cast<std::int64_t>(call)) != kCalls.end();
}

/// Sleeping system calls go on by themselves, but for some that the kernel ends with EINTR on our account,
/// also for signals that the program ignores: to a thread that is traced it delivers these. Such a call is to
/// begin again, unless a handler of a signal runs first. One with a time limit waits for that time again.
void restart_call(pid_t tid, const user_regs_struct& registers) {
  constexpr long kRestartWithoutHandler = 514;  // ERESTARTNOHAND, which no header of user space has
  if (machine::stopped_result(registers) != -EINTR || !may_restart(machine::stopped_call(registers))) return;
  user_regs_struct changed = registers;
  machine::set_stopped_result(changed, -kRestartWithoutHandler);
  iovec all{.iov_base = &changed, .iov_len = sizeof changed};
  ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &all);
}

/// Stopped for a signal that is about to be delivered.
bool is_for_signal(int status) {
  return status >> kEventShift == 0;
}

/// Stopped on our account: since we asked, or by a signal that without us it may not have noticed. Not by
/// SIGSTOP and the like.
bool is_of_ours(int status) {
  return is_for_signal(status) ||
         (status >> kEventShift == PTRACE_EVENT_STOP && (status & kSignalMask) == SIGTRAP);
}

bool is_uninterruptible(pid_t pid, pid_t tid) {
  const auto thread = find_thread(pid, tid);
  return thread && thread->state == 'D';
}

/// Why a thread has not stopped.
MissedThread missed(pid_t pid, pid_t tid) {
  using Why = MissedThread::Why;
  return {is_uninterruptible(pid, tid) ? Why::uninterruptible : Why::no_answer, tid};
}

sigset_t terminal_stops() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

StopsLater::StopsLater() {
  const sigset_t signals = terminal_stops();
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

StopsLater::~StopsLater() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

DeadThreads::DeadThreads() : thread_([this] { run(); }) {}

DeadThreads::~DeadThreads() {
  {
    const std::lock_guard guard(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void DeadThreads::add(pid_t tid) {
  const std::lock_guard guard(mutex_);
  traced_.push_back(tid);
}

void DeadThreads::begin() {
  {
    const std::lock_guard guard(mutex_);
    active_ = true;
  }
  changed_.notify_one();
}

void DeadThreads::end() {
  const std::lock_guard guard(mutex_);
  active_ = false;
  traced_.clear();
}

/// All threads of this process may wait for what one of them traces.
void DeadThreads::run() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (!active_) {
      changed_.wait(lock, [this] { return active_ || over_; });
    } else {
      changed_.wait_for(lock, kBetweenDead);
    }
    for (const pid_t tid : traced_) {
      // Without WNOWAIT a stop would be taken out of the kernel, and the signal that it is for.
      siginfo_t info{};
      const int seen = waitid(P_PID, static_cast<id_t>(tid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL);
      const bool dead =
          info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
      int ignored = 0;
      if (seen == 0 && info.si_pid != 0 && dead) waitpid(tid, &ignored, __WALL | WNOHANG);
    }
  }
}

/// WNOWAIT leaves the signal in the kernel that a thread has stopped for: taken out, it would be lost if this
/// program were killed now.
Holder::Answer Holder::answer_of(pid_t tid, int& status) {
  siginfo_t info{};
  const int options = WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL;
  if (waitid(P_PID, static_cast<id_t>(tid), &info, options) != 0)
    return errno == EINTR ? Answer::none : Answer::gone;
  if (info.si_pid == 0) return Answer::none;
  if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
    int ignored = 0;  // its end is for its parent to see, which we have to wait for first
    waitpid(tid, &ignored, __WALL | WNOHANG);
    return Answer::gone;
  }
  status = info.si_status;
  return Answer::stopped;
}

/// With the signal that it stopped for. One that was killed meanwhile has to be waited for.
void Holder::let_go(const Asked& asked, int status) {
  const long signal = is_for_signal(status) ? status & kSignalMask : 0;
  if (ptrace(PTRACE_DETACH, asked.tid, nullptr, signal) != 0) late_.push_back(asked);
}

/// Appends the thread where it may be asked to stop now. While a process executes a program, its threads
/// refuse for a moment.
void Holder::seize(pid_t pid, pid_t tid, std::vector<Asked>& seized, Held& held) {
  if (std::ranges::find(late_, tid, &Asked::tid) != late_.end()) {
    held.missed.push_back(missed(pid, tid));
    return;
  }
  for (int attempt = 1;; ++attempt) {
    const std::uint64_t before = now_ns();
    if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0) {
      seized.push_back({.pid = pid, .tid = tid, .runs_ns = before});
      dead_.add(tid);
      return;
    }
    const int error = errno;
    const auto thread = find_thread(pid, tid);  // of a main thread that has ended only the shell is left
    if (error == ESRCH || !thread || thread->state == 'Z' || thread->state == 'X') return;
    if (held.refused != 0 || attempt == kTries) {
      held.refused = error;
      return;
    }
    pause_for(kBetweenLater);
  }
}

/// Of a thread that has stopped; returns false where it has not.
bool Holder::copy(Asked& asked, AddressSpace& memory, Held& held) {
  int status = 0;
  const std::uint64_t before = now_ns();
  const Answer answer = answer_of(asked.tid, status);
  if (answer == Answer::none) {
    asked.runs_ns = before;
    return false;
  }
  asked.done = true;
  asked.gone = answer == Answer::gone;
  if (asked.gone) return true;
  ThreadCopy thread;
  thread.tid = asked.tid;
  iovec all{.iov_base = &thread.registers, .iov_len = sizeof thread.registers};
  const bool got = ptrace(PTRACE_GETREGSET, asked.tid, NT_PRSTATUS, &all) == 0;
  bool known = got && all.iov_len == sizeof thread.registers;
  const bool foreign = got && !known;
  std::size_t size = 0;
  if (known) {
    const std::uint64_t pointer = machine::stopped_sp(thread.registers);
    const Mapping* const mapping = memory.mapping_at(pointer);
    thread.stack = mapping == nullptr ? pointer : std::max(pointer - machine::This::kRedZone, mapping->begin);
    size = mapping == nullptr ? kMostStack : std::min(kMostStack, mapping->end - thread.stack);
    size = memory.read(thread.stack, std::span(buffer_).first(size));
    if (is_of_ours(status)) restart_call(asked.tid, thread.registers);
    known = size != 0 || !memory.is_over();
  }
  if (known && visit_ != nullptr) {
    thread.bytes.assign(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(size));
    (*visit_)(thread);
  }
  let_go(asked, status);
  held.longest_stop_ns = std::max(held.longest_stop_ns, now_ns() - asked.runs_ns);
  if (visit_ != nullptr) return true;
  if (known) {
    thread.bytes.assign(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(size));
    held.threads.push_back(std::move(thread));
  } else if (foreign) {
    held.missed.push_back({MissedThread::Why::not_64_bit, asked.tid});
  }
  return true;
}

/// A thread other than the main one that executes a program gets the process's number, and stays traced under
/// it: threads that are gone may have become the main thread. It is asked to stop again, as nobody else would
/// let it go. No memory is left to read: the next look sees the new program.
void Holder::keep_executed(pid_t pid, std::span<const Asked> asked) {
  const bool gone =
      std::ranges::any_of(asked, [&](const Asked& each) { return each.gone && each.tid != pid; });
  if (!gone || std::ranges::find(late_, pid, &Asked::tid) != late_.end()) return;
  if (ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0)
    late_.push_back({.pid = pid, .tid = pid, .runs_ns = now_ns()});
}

/// Threads that do not stop in time, since they wait for a disk, say, are let go when they do; at the latest
/// when the calling thread of this program ends.
void Holder::give_up(std::span<const Asked> asked, Held& held) {
  for (const Asked& each : asked) {
    if (each.done) continue;
    held.missed.push_back(missed(each.pid, each.tid));
    late_.push_back(each);
  }
}

/// Whether waiting on is of use: a thread that is uninterruptible may stay so for minutes.
bool Holder::are_all_asleep(std::span<const Asked> asked) {
  return std::ranges::all_of(
      asked, [](const Asked& each) { return each.done || is_uninterruptible(each.pid, each.tid); });
}

void Holder::stop_and_copy(std::span<Asked> asked, AddressSpace& memory, Held& held) {
  const std::uint64_t begin = now_ns();
  const std::size_t known = held.threads.size();
  for (Asked& each : asked) {
    int status = 0;
    const std::uint64_t now = now_ns();
    if (answer_of(each.tid, status) == Answer::none) each.runs_ns = now;  // no signal has stopped it yet
    ptrace(PTRACE_INTERRUPT, each.tid, nullptr, nullptr);
  }
  std::size_t left = asked.size();
  while (left != 0) {
    const std::size_t before = left;
    let_late_ones_go();
    for (Asked& each : asked) {
      if (!each.done && copy(each, memory, held)) --left;
    }
    if (left == 0) break;
    const std::uint64_t passed = now_ns() - begin;
    if (passed > kPatience || (passed > kPatienceAsleep && are_all_asleep(asked))) break;
    if (left == before) pause_for(passed < kMillisecond ? kBetweenSoon : kBetweenLater);
  }
  give_up(asked, held);
  if (!asked.empty()) keep_executed(asked.front().pid, asked);
  held.longest_stop_ns = std::max(held.longest_stop_ns, take_late_stop_ns());
  const auto begun =
      held.threads.begin() + static_cast<std::ptrdiff_t>(known);  // copied in the order of stops
  std::sort(begun, held.threads.end(), [&](const ThreadCopy& a, const ThreadCopy& b) {
    return std::ranges::find(asked, a.tid, &Asked::tid) < std::ranges::find(asked, b.tid, &Asked::tid);
  });
}

/// A thread that is traced stops for any signal, so none is seized before its turn.
Held Holder::look(pid_t pid, AddressSpace& memory, const std::function<void(Held&)>& take) {
  Held held;
  buffer_.resize(kMostStack);
  let_late_ones_go();
  held.remapped = memory.refresh();
  std::set<pid_t> known;
  bool any = false;
  watch_for_dead();
  for (int round = 0; round < kRounds; ++round) {
    std::vector<pid_t> threads = threads_of(pid);
    std::erase_if(threads, [&](pid_t tid) { return !known.insert(tid).second; });
    if (threads.empty()) break;
    for (std::size_t first = 0; first < threads.size(); first += kTogether) {
      std::vector<Asked> asked;
      for (std::size_t i = first; i < std::min(first + kTogether, threads.size()); ++i)
        seize(pid, threads[i], asked, held);
      any = any || !asked.empty();
      stop_and_copy(asked, memory, held);
      std::size_t bytes = 0;
      for (const ThreadCopy& copy : held.threads) bytes += copy.bytes.size();
      if (bytes > kMostCopies) hand_on(held, take);
    }
  }
  dead_.end();
  hand_on(held, take);
  held.gone = !any && held.refused == 0 && held.missed.empty();
  if (any) held.refused = 0;  // some may be looked at
  return held;
}

void Holder::watch_for_dead() {
  for (const Asked& late : late_) dead_.add(late.tid);
  dead_.begin();
}

void Holder::hand_on(Held& held, const std::function<void(Held&)>& take) {
  take(held);
  held.threads.clear();
  held.remapped = false;
}

void Holder::visit(pid_t pid, AddressSpace& memory, std::span<const pid_t> threads, Held& held,
                   const std::function<void(const ThreadCopy&)>& visit) {
  visit_ = &visit;
  watch_for_dead();
  for (const pid_t tid : threads) {
    std::vector<Asked> asked;
    seize(pid, tid, asked, held);
    stop_and_copy(asked, memory, held);
  }
  dead_.end();
  visit_ = nullptr;
}

void Holder::let_late_ones_go() {
  for (Asked& late : std::exchange(late_, {})) {
    int status = 0;
    const std::uint64_t before = now_ns();
    const Answer answer = answer_of(late.tid, status);
    if (answer == Answer::none) {
      late.runs_ns = before;
      late_.push_back(late);
    }
    if (answer == Answer::gone) {
      late.gone = true;
      keep_executed(late.pid, std::span(&late, 1));
    }
    if (answer != Answer::stopped) continue;
    user_regs_struct registers{};
    iovec all{.iov_base = &registers, .iov_len = sizeof registers};
    const bool got = ptrace(PTRACE_GETREGSET, late.tid, NT_PRSTATUS, &all) == 0;
    if (got && all.iov_len == sizeof registers && is_of_ours(status)) restart_call(late.tid, registers);
    let_go(late, status);
    late_stop_ns_ = std::max(late_stop_ns_, now_ns() - late.runs_ns);
  }
}

std::uint64_t Holder::take_late_stop_ns() {
  return std::exchange(late_stop_ns_, 0);
}

void Holder::wait(std::uint64_t ns) {
  const sigset_t signals = terminal_stops();
  const std::uint64_t end = now_ns() + ns;
  for (std::uint64_t now = now_ns(); now < end; now = now_ns()) {
    let_late_ones_go();
    const bool free = late_.empty();  // and this program may be stopped without harm
    if (free) pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    pause_for(free ? end - now : std::min<std::uint64_t>(end - now, 2 * kMillisecond));
    if (free) pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  }
}

void Holder::finish() {
  const std::uint64_t end = now_ns() + kPatienceWithLate;
  for (let_late_ones_go(); !are_all_asleep(late_) && now_ns() < end; let_late_ones_go())
    pause_for(kBetweenLater);
}

}  // namespace culprit::stacks
