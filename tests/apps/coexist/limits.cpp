// Small stacks, descriptors and whatever else there is little of, and what a process may not do.
#include "deeds.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

namespace coexist {
namespace {

ucontext_t scheduler;
ucontext_t task;

void compute_in_task() {
  compute(200);
  swapcontext(&task, &scheduler);
}

/// Tasks on stacks far smaller than a signal needs, with an alternate stack for signals, as in Go.
void small_stacks() {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kSignals = 32 * 1024;
  static char signals[kSignals];
  const stack_t alternate{.ss_sp = signals, .ss_flags = 0, .ss_size = sizeof signals};
  require(sigaltstack(&alternate, nullptr) == 0, "sigaltstack");
  compute(1);  // so that no function has to be looked up on the small stack
  void* memory = mmap(nullptr, 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* stack = static_cast<char*>(memory) + kPage;
  require(mprotect(stack, kPage, PROT_READ | PROT_WRITE) == 0, "mprotect");
  getcontext(&task);
  task.uc_stack.ss_sp = stack;
  task.uc_stack.ss_size = kPage;
  makecontext(&task, compute_in_task, 0);
  swapcontext(&scheduler, &task);
  say("the task ended");
}

/// An alternate stack for signals, above a page that nobody may touch, with room for a handler's signal, one
/// of the sampler's meanwhile, and 2 KB.
void take_small_signal_stack() {
  constexpr std::size_t kPage = 4096;
  const std::size_t size = 2 * getauxval(AT_MINSIGSTKSZ) + 2048;
  void* memory = mmap(nullptr, size + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(mprotect(memory, kPage, PROT_NONE) == 0, "mprotect");
  const stack_t stack{.ss_sp = static_cast<char*>(memory) + kPage, .ss_flags = 0, .ss_size = size};
  require(sigaltstack(&stack, nullptr) == 0, "sigaltstack");
}

void on_signal_stack(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  require(sigaction(signal, &action, nullptr) == 0, "sigaction");
}

int pipe_ends[2];

/// What event loops write to wake themselves, and how handlers wait.
void move_bytes(int /*signal*/) {
  char byte = 1;
  const timespec moment{.tv_sec = 0, .tv_nsec = 1000};
  for (int i = 0; i < 2; ++i) {
    require(write(pipe_ends[1], &byte, 1) == 1 && read(pipe_ends[0], &byte, 1) == 1, "a byte");
    nanosleep(&moment, nullptr);
    poll(nullptr, 0, 1);
  }
}

void report_crash(int /*signal*/) {
  constexpr char kMessage[] = "the stack overflowed\n";
  require(write(STDOUT_FILENO, kMessage, sizeof kMessage - 1) > 0, "write");
  _exit(3);
}

int recurse(int depth) {
  volatile char frame[4096];
  frame[depth % 4096] = static_cast<char>(depth);
  return recurse(depth + 1) + frame[0];
}

/// Handlers that read, write, wait and end the process on stacks of the usual 8 KB or so, as faulthandler and
/// asyncio do together in Python, and as every crash handler does; before the process has been sampled, too.
void small_signal_stack() {
  require(pipe(pipe_ends) == 0, "pipe");
  take_small_signal_stack();
  on_signal_stack(SIGUSR1, move_bytes);
  raise(SIGUSR1);
  for (int i = 0; i < 100; ++i) {
    compute(2);
    raise(SIGUSR1);
  }
  const pid_t child = fork();
  if (child == 0) {
    on_signal_stack(SIGSEGV, report_crash);
    recurse(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  say("exit status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1));
  on_signal_stack(SIGSEGV, report_crash);
  _exit(recurse(0));
}

/// Closes every descriptor and takes all numbers for files of its own.
void descriptors() {
  compute(100);
  closefrom(3);
  char name[] = "/tmp/coexist-XXXXXX";
  const int file = mkstemp(name);
  require(file == 3, "the lowest descriptor");
  unlink(name);
  for (int number = 4; number < 5000; ++number) dup2(file, number);
  compute(400);
  struct stat status {};
  fstat(file, &status);
  say("the file holds " + std::to_string(status.st_size) + " bytes");
  closefrom(3);
  compute(300);
  const int next = open("/dev/null", O_RDONLY);
  say("the next descriptor is " + std::to_string(next));
}

/// Calls that no signal breaks off since they never wait, as those of MPI over TCP, or since there is
/// something to receive.
void never_waits() {
  int sockets[2];
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) == 0, "socketpair");
  int blocking[2];
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, blocking) == 0, "socketpair");
  compute(20);
  char bytes[16384] = {};
  const iovec some{bytes, sizeof bytes};
  pollfd asked{blocking[0], POLLOUT, 0};
  for (int i = 0; i < 1000; ++i) {
    bool good = writev(sockets[0], &some, 1) == sizeof bytes && readv(sockets[1], &some, 1) == sizeof bytes;
    good = good && send(sockets[0], bytes, 8, 0) == 8 && recv(sockets[1], bytes, sizeof bytes, 0) == 8;
    good = good && recv(sockets[1], bytes, sizeof bytes, 0) == -1 && errno == EAGAIN;
    good = good && poll(&asked, 1, -1) == 1;
    require(good, "a call");
  }
  say("all done");
}

/// As a server does: data under the number of standard error, then fewer privileges, then a worker.
void data_for_standard_error() {
  compute(50);
  close(STDERR_FILENO);
  require(open("data", O_RDWR | O_CREAT | O_TRUNC, 0644) == STDERR_FILENO, "the lowest descriptor");
  require(write(STDERR_FILENO, "data", 4) == 4, "write");
  if (geteuid() == 0) require(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
  if (fork() == 0) {
    compute(100);
    _exit(0);
  }
  wait(nullptr);
  say("computed");
}

void file_creation_mask() {
  umask(0777);
  require(chdir("/") == 0, "chdir");
  compute(300);
  say("computed");
}

void no_descriptors() {
  const rlimit none{0, 0};
  compute(50);
  require(setrlimit(RLIMIT_NOFILE, &none) == 0, "setrlimit");
  compute(700);
  say(open("/dev/null", O_RDONLY) < 0 ? "no descriptor" : "a descriptor");
}

void no_memory() {
  const rlimit little{256 << 20, 256 << 20};
  require(setrlimit(RLIMIT_AS, &little) == 0, "setrlimit");
  compute(200);
  // None ends before all are there: with its first call of free(), a thread that ends takes address space for
  // allocations of its own, and there may be none left for the stacks of others.
  std::atomic<bool> all_started{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&all_started] {
      while (!all_started) compute(1);
      compute(50);
    });
  }
  all_started = true;
  for (std::thread& thread : threads) thread.join();
  say("computed");
}

/// Of a limited address space threads leave the program what they leave it unmeasured, nearly.
void address_space() {
  const rlimit limited{std::uint64_t{4} << 30, std::uint64_t{4} << 30};
  require(setrlimit(RLIMIT_AS, &limited) == 0, "setrlimit");
  std::atomic<bool> ended{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&ended] {
      while (!ended) compute(20);
    });
  }
  compute(300);
  constexpr std::size_t kMuch = std::size_t{3} << 30;  // the stacks take 128 MiB
  const void* memory = mmap(nullptr, kMuch, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  say(memory == MAP_FAILED ? "no room" : "room");
  ended = true;
  for (std::thread& thread : threads) thread.join();
}

/// No signals left to queue, and with them no timers.
void no_signals() {
  const rlimit none{0, 0};
  require(setrlimit(RLIMIT_SIGPENDING, &none) == 0, "setrlimit");
  std::thread([] { compute(100); }).join();
  compute(100);
  say("computed");
}

void no_new_privileges() {
  require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
  compute(200);
  say("computed");
}

/// From here on, a system call that is not among these ends the process.
void restrict_calls(bool by_prctl) {
  constexpr std::uint32_t kAllowed[] = {SYS_write,      SYS_exit_group,    SYS_rt_sigreturn, SYS_brk,
                                        SYS_newfstatat, SYS_clock_gettime, SYS_exit};
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
  for (const std::uint32_t allowed : kAllowed) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const long failed = by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                               : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  require(failed == 0, "seccomp");
}

void filtered_calls(bool by_prctl) {
  compute(200);
  restrict_calls(by_prctl);
  compute(200);
  say("computed");
}

volatile char dispatch = 0;  // what the kernel looks at: 1 hands system calls to the program
volatile int handed_over = 0;

void take_call(int /*signal*/) {
  dispatch = 0;
  handed_over = handed_over + 1;
}

/// Has system calls handed to itself, as Wine does: it gets its own, and nobody else's.
void dispatched_calls() {
  constexpr unsigned long kSetUserDispatch = 59, kOn = 1;
  compute(100);
  signal(SIGSYS, take_call);
  if (prctl(static_cast<int>(kSetUserDispatch), kOn, 0, 0, &dispatch) != 0)
    return say("the kernel hands over no calls");
  constexpr int kCalls = 50;
  int own = 0;
  for (int i = 0; i < kCalls; ++i) {
    handed_over = 0;
    dispatch = 1;
    for (volatile int k = 0; k < 2'000'000;) k = k + 1;
    syscall(SYS_getpid);
    if (dispatch == 0 && handed_over == 1) ++own;
    dispatch = 0;
  }
  say(std::to_string(own) + " of " + std::to_string(kCalls) + " calls");
}

/// Namespaces that only a process with a single thread can enter.
void namespaces() {
  compute(100);
  const int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  const bool entered = setns(own, CLONE_NEWNS) == 0;
  say(std::string("setns: ") + (entered ? "entered" : std::strerror(errno)));
  const bool left = unshare(CLONE_NEWUSER) == 0;
  say(std::string("unshare: ") + (left ? "left" : std::strerror(errno)));
  compute(100);
}

void leave_namespace_by_number() {
  compute(100);
  const bool left = syscall(SYS_unshare, CLONE_NEWUSER) == 0;
  say(std::string("unshare: ") + (left ? "left" : std::strerror(errno)));
  compute(100);
}

/// What the kernel says of the threads of this process: each line once, with these beginnings.
std::set<std::string> of_all_threads(std::initializer_list<const char*> beginnings) {
  std::set<std::string> lines;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      for (const char* beginning : beginnings) {
        if (line.rfind(beginning, 0) == 0) lines.insert(line);
      }
    }
  }
  return lines;
}

/// No thread of the process keeps a privilege that the program gave away; what it records goes on.
void give_privileges_away(void (*give)()) {
  compute(100);
  give();
  for (const std::string& line : of_all_threads({"Uid", "Gid", "Groups", "CapEff", "CapBnd", "NoNewPrivs"}))
    say(line);
  compute(100);
  std::thread([] { compute(300); }).join();
  say("computed");
}

constexpr unsigned kNobody = 65534;

void become_nobody() {
  require(setgroups(0, nullptr) == 0 && setgid(kNobody) == 0 && setuid(kNobody) == 0, "setuid");
}

void become_nobody_for_a_while() {
  require(initgroups("daemon", kNobody) == 0 && setegid(kNobody) == 0 && seteuid(kNobody) == 0, "seteuid");
}

void become_nobody_by_number() {
  require(syscall(SYS_setgroups, 0, nullptr) == 0 && syscall(SYS_setresgid, kNobody, kNobody, kNobody) == 0 &&
              syscall(SYS_setresuid, kNobody, kNobody, kNobody) == 0,
          "setresuid");
}

void drop_capabilities() {
  constexpr unsigned kChown = 0;
  require(prctl(PR_CAPBSET_DROP, kChown, 0, 0, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
          "prctl");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, getpid()};
  const __user_cap_data_struct none[2] = {};
  require(syscall(SYS_capset, &header, none) == 0, "capset");
}

/// As libraries find out whether the kernel knows filters.
void filters_asked_for() {
  const bool known = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) == -1 && errno == EFAULT &&
                     syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr) == -1 && errno == EFAULT;
  compute(300);
  say(known ? "filters are known" : "no filters");
}

}  // namespace

std::vector<Deed> limits() {
  return {{"small-stacks", small_stacks},
          {"small-signal-stack", small_signal_stack},
          {"descriptors", descriptors},
          {"never-waits", never_waits},
          {"data-for-standard-error", data_for_standard_error},
          {"file-creation-mask", file_creation_mask},
          {"no-descriptors", no_descriptors},
          {"no-memory", no_memory},
          {"address-space", address_space},
          {"no-signals", no_signals},
          {"no-new-privileges", no_new_privileges},
          {"filtered-calls", [] { filtered_calls(true); }},
          {"filtered-calls-by-syscall", [] { filtered_calls(false); }},
          {"dispatched-calls", dispatched_calls},
          {"namespaces", namespaces},
          {"namespaces-by-number", leave_namespace_by_number},
          {"become-nobody", [] { give_privileges_away(become_nobody); }},
          {"become-nobody-for-a-while", [] { give_privileges_away(become_nobody_for_a_while); }},
          {"become-nobody-by-number", [] { give_privileges_away(become_nobody_by_number); }},
          {"drop-capabilities", [] { give_privileges_away(drop_capabilities); }},
          {"filters-asked-for", filters_asked_for}};
}

}  // namespace coexist
