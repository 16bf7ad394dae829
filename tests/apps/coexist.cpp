// Does, one at a time, what programs do that a sampler in the same process may disturb, and says what came of
// it: the same lines measured and unmeasured. Usage: coexist WHAT
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

double compute(int milliseconds) {
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  double sum = 0;
  while (Clock::now() < end) {
    for (int i = 0; i < 1000; ++i) sum += std::sin(i + sum);
  }
  return sum;
}

void say(const std::string& line) {
  std::puts(line.c_str());
}

void require(bool good, const std::string& what) {
  if (good) return;
  say(what + ": " + std::strerror(errno));
  std::exit(1);
}

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

// -- timers --------------------------------------------------------------------------

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

// -- signals -------------------------------------------------------------------------

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

/// A child by a fork that runs no handlers of libraries, and one by the bare system call.
void bare_forks() {
  const auto by_number = [] {
    return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0));
  };
  for (const bool bare : {false, true}) {
    const pid_t child = bare ? by_number() : _Fork();
    if (child == 0) {
      compute(100);
      usleep(300'000);  // a wait that is recorded beforehand
      _exit(6);
    }
    compute(200);
    int status = 0;
    waitpid(child, &status, 0);
    say("status " + std::to_string(WEXITSTATUS(status)));
  }
}

// -- stacks --------------------------------------------------------------------------

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

// -- descriptors, directories, limits ------------------------------------------------

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

std::jmp_buf out_of_handler;

/// Out of a blocking call by a jump that restores no mask; then computes.
void jump_out_of_call() {
  struct sigaction action {};
  action.sa_handler = [](int) { std::longjmp(out_of_handler, 1); };
  action.sa_flags = SA_NODEFER;
  sigaction(SIGALRM, &action, nullptr);
  if (setjmp(out_of_handler) == 0) {
    const itimerval soon{{0, 0}, {0, 20'000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    pause();
  }
  compute(300);
  say("jumped");
}

/// CulpritEpoch and CulpritPath of the measurement's runtime: as its wrappers of one-sided communication,
/// which this program does without, count a call.
struct Epoch {
  std::uint32_t kind, size_class;
  std::uint64_t window, peers, time_ns;
};
struct Path {
  std::uint32_t tree, node;
  std::uint64_t pc, sp, bp, bx;  // where the walk starts; 0: where it is counted
  std::uint64_t site;

  bool operator==(const Path&) const = default;
};
using Count = unsigned(const Epoch*, std::size_t, const void*, std::size_t, Path*);

/// Null where this process is not measured.
Count* find_count_epochs() {
  return reinterpret_cast<Count*>(dlsym(RTLD_DEFAULT, "culprit_rt_count_epochs"));
}

/// The path at which a call here is counted, if `path` does not tell it already.
[[gnu::noipa]] Path counted(Count* count_epochs, Path path) {
  const Epoch epoch{3, 0, 0, 0, 1};
  count_epochs(&epoch, 1, nullptr, 0, &path);
  return path;
}
[[gnu::noipa]] Path counted_elsewhere(Count* count_epochs, Path path) {
  path = counted(count_epochs, path);
  asm volatile("");  // no tail call
  return path;
}

/// A path to be walked from here.
[[gnu::always_inline]] inline Path walk_from_here() {
  Path path{};
  asm volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2\n\tmovq %%rbx, %3"
               : "=&r"(path.pc), "=m"(path.sp), "=m"(path.bp), "=m"(path.bx));
  return path;
}

/// As a wrapper counts: the same place and stack pointer, whichever function `counted_through` it was.
[[gnu::noipa]] Path counted_in_wrapper(Count* count_epochs) {
  Path here = walk_from_here();
  here.site = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  return counted(count_epochs, here);
}
[[gnu::noipa]] Path call_wrapper(Count* count_epochs) {
  const Path path = counted_in_wrapper(count_epochs);
  asm volatile("");
  return path;
}
template <int kNumber>
[[gnu::noipa]] Path counted_through(Count* count_epochs) {
  const Path path = call_wrapper(count_epochs);
  asm volatile("");
  return path;
}

/// Calls of one place are told apart by what called that, and have the same path each time.
void count_in_turns(Count* count_epochs) {
  Path first{};
  Path second{};
  const auto same = [](const Path& a, const Path& b) { return a.tree == b.tree && a.node == b.node; };
  for (int turn = 0; turn < 4; ++turn) {
    const Path one = counted_through<1>(count_epochs);
    const Path two = counted_through<2>(count_epochs);
    require(one.pc == two.pc && one.sp == two.sp && one.site == two.site, "calls of two places");
    require(one.tree == two.tree && one.node != two.node, "two callers with one path");
    require(turn == 0 || (same(one, first) && same(two, second)), "a path that changed in turns");
    first = one;
    second = two;
  }
  for (int turn = 0; turn < 3; ++turn) {
    const Path again = counted_through<2>(count_epochs);
    require(!same(again, second), "another caller with the same path");
    require(turn == 0 || same(again, first), "a path that changed in a row");
    first = again;
  }
}

/// Exit statuses: which of the expectations of a child failed; 0 none.
int count_in_child(Count* count_epochs, Path parents, bool own) {
  const Path fresh = counted(count_epochs, {});
  if (!own) return fresh == Path{} ? 0 : 1;  // the parent's tree is none of its business
  if (fresh.tree == 0 || fresh.tree == parents.tree) return 2;
  return counted(count_epochs, parents).tree == fresh.tree ? 0 : 3;
}

/// Who counts several things of one call walks its call path once; a forked child begins its own tree, and
/// one by the bare system call has none.
void call_paths() {
  compute(50);
  Count* count_epochs = find_count_epochs();
  if (count_epochs != nullptr) {
    const Path path = counted(count_epochs, {});
    require(path.tree != 0, "a path that was not found");
    require(counted_elsewhere(count_epochs, path) == path, "a path that was not reused");
    const Path other = counted_elsewhere(count_epochs, {});
    require(other.tree == path.tree && other.node != path.node, "two places with one path");
    const Path here = walk_from_here();
    const Path from_here = counted(count_epochs, here);
    require(from_here.tree == path.tree && from_here.node != path.node, "a walk that started elsewhere");
    require(counted_elsewhere(count_epochs, here) == from_here, "a path that depends on who walked it");
    count_in_turns(count_epochs);
    for (const bool bare : {false, true}) {
      const pid_t child =
          bare ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, 0)) : fork();
      if (child == 0) _exit(count_in_child(count_epochs, path, !bare));
      int status = 0;
      waitpid(child, &status, 0);
      require(status == 0, "a child's path, " + std::to_string(WEXITSTATUS(status)));
    }
    require(counted(count_epochs, {}).tree == path.tree, "a tree that changed");
  }
  say("counted");
}

/// Out of the measurement's own counting of a call, as a program does that jumps out of a handler during a
/// call of one-sided communication; then computes.
void jump_out_of_count() {
  Count* count_epochs = find_count_epochs();
  compute(100);
  struct sigaction action {};
  action.sa_handler = [](int) { std::longjmp(out_of_handler, 1); };
  action.sa_flags = SA_NODEFER;
  sigaction(SIGALRM, &action, nullptr);
  volatile int jumps = 0;
  while (jumps < 20) {
    if (setjmp(out_of_handler) == 0) {
      const itimerval soon{{0, 0}, {0, 2'000}};
      setitimer(ITIMER_REAL, &soon, nullptr);
      while (true) {
        if (count_epochs != nullptr) counted(count_epochs, {});
      }
    }
    jumps = jumps + 1;
  }
  compute(500);
  say("jumped");
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

/// As libraries find out whether the kernel knows filters.
void filters_asked_for() {
  const bool known = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) == -1 && errno == EFAULT &&
                     syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr) == -1 && errno == EFAULT;
  compute(300);
  say(known ? "filters are known" : "no filters");
}

/// A library that starts a thread while it is being loaded, and waits for it.
void constructor_waits() {
  void* library = dlopen("libwaiting_constructor.so", RTLD_NOW);
  say(library != nullptr ? "loaded" : dlerror());
}

/// Signal handlers that end the process while it looks for a program to become.
void ended_in_exec() {
  std::string path;
  for (int i = 0; i < 2000; ++i) path += "/none/" + std::to_string(i) + ":";
  setenv("PATH", path.c_str(), 1);
  compute(50);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGALRM, [](int) { _exit(7); });
      compute(20);
      const itimerval soon{{0, 0}, {0, 1000 + i * 100}};
      setitimer(ITIMER_REAL, &soon, nullptr);
      for (;;) execlp("none", "none", static_cast<char*>(nullptr));
    }
    int status = 0;
    waitpid(child, &status, 0);
    say("exit " + std::to_string(WEXITSTATUS(status)));
  }
}

/// Allocations in several threads, some freed by another one.
void allocations() {
  std::vector<std::vector<char>> handed_on[4];
  std::vector<std::thread> threads;
  for (auto& blocks : handed_on) {
    threads.emplace_back([&blocks] {
      for (std::size_t i = 1; i < 60'000; ++i) {
        std::vector<char> block(i * 7919 % 3000 + 1, static_cast<char>(i));
        if (i % 100 == 0) blocks.push_back(std::move(block));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  long sum = 0;
  for (auto& blocks : handed_on) {
    for (const auto& block : blocks) sum += static_cast<long>(block.size()) * block[0];
    blocks.clear();
  }
  say("sum " + std::to_string(sum));
}

__attribute__((noinline)) void throw_at(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  throw_at(depth - 1);
  compute(0);
}

void exceptions() {
  int caught = 0;
  for (int i = 0; i < 1000; ++i) {
    try {
      throw_at(20);
    } catch (const std::exception&) {
      ++caught;
    }
  }
  say("caught " + std::to_string(caught));
}

/// The preloaded libraries, without the directories that they lie in.
void preloaded() {
  const char* list = std::getenv("LD_PRELOAD");
  std::string names;
  for (const char* at = list == nullptr ? "" : list; *at != '\0';) {
    const std::size_t length = std::strcspn(at, ": ");
    const std::string path(at, length);
    names += " " + path.substr(path.rfind('/') + 1);
    at += length + (at[length] == '\0' ? 0 : 1);
  }
  say("preloaded:" + names);
  compute(100);
}

struct Deed {
  const char* name;
  void (*act)();
};

constexpr Deed kDeeds[] = {{"interval-timers", interval_timers},
                           {"own-timers", own_timers},
                           {"all-signals", all_signals},
                           {"blocked-signals", blocked_signals},
                           {"deadly-signals", deadly_signals},
                           {"wait-for-all", wait_for_all},
                           {"bare-forks", bare_forks},
                           {"small-stacks", small_stacks},
                           {"descriptors", descriptors},
                           {"file-creation-mask", file_creation_mask},
                           {"no-descriptors", no_descriptors},
                           {"no-memory", no_memory},
                           {"no-signals", no_signals},
                           {"no-new-privileges", no_new_privileges},
                           {"filtered-calls", [] { filtered_calls(true); }},
                           {"filtered-calls-by-syscall", [] { filtered_calls(false); }},
                           {"jump-out-of-call", jump_out_of_call},
                           {"jump-out-of-count", jump_out_of_count},
                           {"call-paths", call_paths},
                           {"namespaces", namespaces},
                           {"filters-asked-for", filters_asked_for},
                           {"constructor-waits", constructor_waits},
                           {"ended-in-exec", ended_in_exec},
                           {"allocations", allocations},
                           {"exceptions", exceptions},
                           {"preloaded", preloaded}};

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const Deed& deed : kDeeds) {
    if (argc == 2 && std::strcmp(argv[1], deed.name) == 0) {
      deed.act();
      return 0;
    }
  }
  std::fputs("usage: coexist WHAT\n", stderr);
  return 2;
}
