#include "stepper.hpp"

#include "modules.hpp"
#include "reference.hpp"
#include "shadow_stack.hpp"
#include "step_tally.hpp"
#include "unwind/byte_cursor.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

asm(R"(
  .text
  .globl stepped_begin
  .type stepped_begin, @function
stepped_begin:
  .cfi_startproc
  int3
  ret
  .cfi_endproc
  .size stepped_begin, . - stepped_begin
  .globl stepped_end
  .type stepped_end, @function
stepped_end:
  .cfi_startproc
  int3
  ret
  .cfi_endproc
  .size stepped_end, . - stepped_end
)");

extern "C" void _start();  // NOLINT(bugprone-reserved-identifier): the program's entry has that name

namespace culprit::unwind::testing {

volatile long stepped_sink = 0;

namespace {

constexpr std::size_t kMaxThreads = 16;  // alive at once; the program starts fewer
constexpr long kTracerFailed = 98;
constexpr long kWrong = 97;

struct Traced {
  pid_t id;  // 0: free
  bool stepping;
  ThreadState before;
  std::uint64_t stack_low, stack_high;
  ShadowStack shadow;
  Walker* splicing;
  Walker* fresh;
};

struct Stepper {
  Traced threads[kMaxThreads];
  pid_t main;
  Bounds main_stack;
  volatile int attached;
  bool stepping;  // new threads are stepped
  long budget;    // instructions that are left of this part
  long wished;    // per part; 0: no limit
  StepTally tally;
};

Stepper* stepper = nullptr;  // in memory of its own, lest the program's own data be mixed with it

bool is_begin(std::uint64_t pc) {
  return pc == reinterpret_cast<std::uint64_t>(&stepped_begin) + 1;
}
bool is_end(std::uint64_t pc) {
  return pc == reinterpret_cast<std::uint64_t>(&stepped_end) + 1;
}

[[noreturn]] void fail(const char* what) {
  dprintf(STDERR_FILENO, "stepper: %s: %s\n", what, strerror(errno));
  kill(stepper->main, SIGKILL);
  _exit(kTracerFailed);
}

long control(int request, pid_t id, long data = 0) {
  return ptrace(static_cast<__ptrace_request>(request), id, nullptr, data);
}

ThreadState state_of(pid_t id) {
  ThreadState state{};
  if (ptrace(PTRACE_GETREGS, id, nullptr, &state) != 0) fail("PTRACE_GETREGS");
  return state;
}

Traced* find(pid_t id) {
  for (Traced& thread : stepper->threads) {
    if (thread.id == id) return &thread;
  }
  return nullptr;
}

Traced& add(pid_t id) {
  Traced* thread = find(0);
  if (thread == nullptr) fail("too many threads");
  thread->id = id;
  thread->stepping = false;
  thread->before = {};
  thread->stack_low = thread->stack_high = 0;
  return *thread;
}

void go_on(Traced& thread, int signal = 0) {
  const int request = thread.stepping ? PTRACE_SINGLESTEP : PTRACE_CONT;
  if (control(request, thread.id, signal) != 0 && errno != ESRCH) fail("PTRACE_SINGLESTEP");
}

void watch(Traced& thread, const ThreadState& state, bool whole) {
  thread.stepping = true;
  thread.before = state;
  thread.shadow.begin(state, whole);
  thread.splicing->reset(find_loaded_module, nullptr, thread.stack_low, thread.stack_high);
  thread.fresh->reset(find_loaded_module, nullptr, thread.stack_low, thread.stack_high);
}

/// A thread was cloned: clone3's first argument tells where its stack is.
void adopt(const ThreadState& parent, Traced& child) {
  if (parent.orig_rax != SYS_clone3) fail("threads are expected to be made by clone3");
  const auto& arguments = *reinterpret_cast<const clone_args*>(parent.rdi);
  child.stack_low = arguments.stack;
  constexpr std::uint64_t kDescriptor = 1024;  // at least; pthread_getattr_np counts it in
  child.stack_high = arguments.tls + kDescriptor;
}

/// As a handler would see them that interrupted the thread there.
ucontext_t context_of(const ThreadState& state) {
  ucontext_t context{};
  auto& general = context.uc_mcontext.gregs;
  const auto put = [&general](int which, unsigned long long value) {
    general[which] = static_cast<greg_t>(value);
  };
  put(REG_RAX, state.rax), put(REG_RDX, state.rdx), put(REG_RCX, state.rcx), put(REG_RBX, state.rbx);
  put(REG_RSI, state.rsi), put(REG_RDI, state.rdi), put(REG_RBP, state.rbp), put(REG_RSP, state.rsp);
  put(REG_R8, state.r8), put(REG_R9, state.r9), put(REG_R10, state.r10), put(REG_R11, state.r11);
  put(REG_R12, state.r12), put(REG_R13, state.r13), put(REG_R14, state.r14), put(REG_R15, state.r15);
  put(REG_RIP, state.rip);
  return context;
}

std::size_t ask_libunwind(const Traced& thread, const ThreadState& state, std::uint64_t* pc,
                          std::size_t capacity) {
  const std::uint64_t registers[] = {state.rax, state.rdx, state.rcx, state.rbx, state.rsi, state.rdi,
                                     state.rbp, state.rsp, state.r8,  state.r9,  state.r10, state.r11,
                                     state.r12, state.r13, state.r14, state.r15, state.rip};
  return ask_reference(registers, thread.stack_low, thread.stack_high, pc, capacity);
}

void compare(Traced& thread, const ThreadState& state) {
  static ShadowStack::Truth truth;
  static std::uint64_t reference[ShadowStack::kMaxFrames];
  thread.shadow.truth(state, truth);
  const ucontext_t context = context_of(state);
  const Registers registers = registers_of(&context);
  const Walk spliced = thread.splicing->walk(registers);
  thread.fresh->invalidate();
  const Walk fresh = thread.fresh->walk(registers);
  const std::size_t depth = ask_libunwind(thread, state, reference, ShadowStack::kMaxFrames);
  stepper->tally.add(
      {.truth = truth, .spliced = spliced, .fresh = fresh, .reference = reference, .reference_depth = depth});
}

/// Ends the program with the verdict for its status when it is about to exit.
bool ends(const ThreadState& state, Traced& thread) {
  if (state.rax != SYS_exit_group || transfer_at(state.rip) != Transfer::system_call) return false;
  ThreadState last = state;
  const bool good = stepper->tally.report();
  if (!good && state.rdi == 0) last.rdi = kWrong;
  ptrace(PTRACE_SETREGS, thread.id, nullptr, &last);
  return true;
}

void stepped(Traced& thread, const ThreadState& state) {
  thread.shadow.advance(thread.before, state);
  thread.before = state;
  // Nothing lies outside of the program's entry.
  if (state.rip == reinterpret_cast<std::uint64_t>(&_start)) thread.shadow.begin(state, true);
  compare(thread, state);
  if (stepper->wished != 0 && --stepper->budget <= 0) {
    stepper->stepping = false;
    thread.stepping = false;
  } else if (ends(state, thread)) {
    thread.stepping = false;
  }
}

void begin_part(Traced& thread, const ThreadState& state) {
  const auto* name = reinterpret_cast<const char*>(state.rdi);
  stepper->tally.begin_part(name);
  // The verdict falls at the end of the last part, which is short.
  stepper->budget = strcmp(name, kLastPart) == 0 ? LONG_MAX : stepper->wished;
  stepper->stepping = true;
  if (thread.before.rip == 0) watch(thread, state, false);
  thread.stepping = true;
  thread.shadow.resume(state);
  thread.before = state;
}

void end_part(Traced& thread, const ThreadState& state) {
  stepper->stepping = false;
  thread.stepping = false;
  thread.shadow.resume(state);
}

/// A trap: a step, or one of the breakpoints.
void trapped(Traced& thread) {
  const ThreadState state = state_of(thread.id);
  if (is_begin(state.rip)) {
    if (thread.stepping) thread.shadow.advance(thread.before, state);
    begin_part(thread, state);
  } else if (is_end(state.rip)) {
    end_part(thread, state);
  } else if (thread.stepping) {
    if (!stepper->stepping) {
      thread.stepping = false;
    } else {
      stepped(thread, state);
    }
  }
  go_on(thread);
}

void started(Traced& thread) {
  thread.before = state_of(thread.id);
  if (stepper->stepping && thread.stack_high != 0) {
    watch(thread, thread.before, true);
    compare(thread, thread.before);
  }
  go_on(thread);
}

void cloned(Traced& parent) {
  unsigned long id = 0;
  ptrace(PTRACE_GETEVENTMSG, parent.id, nullptr, &id);
  const auto child = static_cast<pid_t>(id);
  const bool early = find(child) != nullptr;  // its own stop was seen before this one
  Traced& thread = early ? *find(child) : add(child);
  adopt(state_of(parent.id), thread);
  if (early) started(thread);
  go_on(parent);
}

void stopped(pid_t id, int status) {
  Traced* thread = find(id);
  const int event = status >> 16;
  if (thread == nullptr) {  // a new thread whose parent's stop is still to come
    add(id);
    return;
  }
  if (WIFEXITED(status) || WIFSIGNALED(status)) {
    thread->id = 0;
  } else if (event == PTRACE_EVENT_CLONE) {
    cloned(*thread);
  } else if (event == PTRACE_EVENT_STOP) {
    if (thread->before.rip == 0 && id != stepper->main) {
      started(*thread);
    } else {
      go_on(*thread);
    }
  } else if (WSTOPSIG(status) == SIGTRAP) {
    trapped(*thread);
  } else {
    if (thread->stepping) thread->shadow.expect_handler();
    go_on(*thread, WSTOPSIG(status));
  }
}

int trace(void* /*unused*/) {
  prctl(PR_SET_PDEATHSIG, 0);
  Traced& main = add(stepper->main);
  main.stack_low = stepper->main_stack.low;
  main.stack_high = stepper->main_stack.high;
  if (control(PTRACE_SEIZE, main.id, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) != 0) fail("PTRACE_SEIZE");
  stepper->attached = 1;
  for (;;) {
    int status = 0;
    const pid_t id = waitpid(-1, &status, __WALL);
    if (id < 0) _exit(errno == ECHILD ? 0 : 1);
    stopped(id, status);
    if (id == stepper->main && (WIFEXITED(status) || WIFSIGNALED(status))) _exit(0);
  }
}

/// Lends the tracing process its thread-local storage, and sleeps meanwhile.
void* host(void* /*unused*/) {
  constexpr std::size_t kStack = std::size_t{1} << 20;
  void* memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  if (clone(trace, static_cast<char*>(memory) + kStack, CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr) < 0)
    fail("clone");
  return nullptr;
}

Walker* new_walker() {
  void* memory = mmap(nullptr, Walker::size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  return Walker::in(memory);
}

long wish_in(const char* const* environment) {
  constexpr long kShort = 1500;  // spreads some 100 000 over all ways to build the program
  constexpr char kName[] = "CULPRIT_STEPS=";
  for (; *environment != nullptr; ++environment) {
    if (strncmp(*environment, kName, sizeof kName - 1) == 0) return atol(*environment + sizeof kName - 1);
  }
  return kShort;
}

}  // namespace

void start_stepper(const char* const* environment) {
  void* memory = mmap(nullptr, sizeof(Stepper), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  stepper = static_cast<Stepper*>(memory);  // all zero is its first state
  stepper->main = getpid();
  stepper->main_stack = this_stack();
  stepper->wished = wish_in(environment);
  for (Traced& thread : stepper->threads) {
    thread.splicing = new_walker();
    thread.fresh = new_walker();
  }
  prepare_reference();
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // where Yama restricts tracing; the number changes nothing else
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, host, nullptr) != 0) abort();
  while (stepper->attached == 0) sched_yield();
}

}  // namespace culprit::unwind::testing
