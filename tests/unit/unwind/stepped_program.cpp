#include "shadow_stack.hpp"
#include "stepper.hpp"

#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <alloca.h>
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

// A program that goes through everything that makes unwinding hard. Built in many ways (see CMakeLists.txt),
// and stepped through instruction by instruction, from its first initializer to its exit.

using culprit::unwind::testing::coroutine_end;
using culprit::unwind::testing::register_foreign_stack;
using culprit::unwind::testing::stepped_begin;
using culprit::unwind::testing::stepped_end;
using culprit::unwind::testing::stepped_sink;

// Without call-frame information: bare_frames.c.
extern "C" {
long bare_framed(long n, long (*call)(long));
long bare_frameless(long n, long (*call)(long));
long bare_saving(long n, long (*call)(long));
}

namespace {

[[gnu::noinline]] long recurse(long depth) {
  if (depth == 0) return stepped_sink;
  const long below = recurse(depth - 1);
  return below + depth;
}

[[gnu::noinline]] long in_registers(long a, long b, long c, long d) {
  // Many values live across calls, so that callee-saved registers are pushed and popped.
  long e = a * 3, f = b * 5, g = c * 7, h = d * 11;
  for (int i = 0; i < 3; ++i) {
    e += recurse(2);
    f ^= e + recurse(1);
    g += f;
    h -= g;
  }
  return e + f + g + h;
}

long prologues(long n) {
  return in_registers(n, n + 1, n + 2, n + 3) + recurse(5);
}

[[gnu::noinline]] long with_dynamic_frame(long n) {
  auto* space = static_cast<volatile char*>(alloca(static_cast<std::size_t>(n) + 40));
  space[0] = 1;
  return space[0] + recurse(1);
}

long dynamic_frames(long n) {
  return with_dynamic_frame(n * 16) + with_dynamic_frame(n + 100) + with_dynamic_frame(n * 3000);
}

[[gnu::noinline]] long realigned_frame(long n) {
  alignas(64) volatile double values[16];
  for (int i = 0; i < 16; ++i) values[i] = static_cast<double>(n + i);
  return static_cast<long>(values[3]) + recurse(2);
}

long realigned(long n) {
  return realigned_frame(n) + realigned_frame(n + 1);
}

[[gnu::noinline]] long tail_target(long n) {
  return n * 3 + recurse(1);
}
[[gnu::noinline]] long tail_caller(long n) {
  stepped_sink = n;
  return tail_target(n + 1);
}

long tail_calls(long n) {
  return tail_caller(n) + tail_caller(n + 1);
}

[[gnu::noinline]] long sum_of(int count, ...) {
  va_list list;
  va_start(list, count);
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += i % 2 == 0 ? va_arg(list, int) : va_arg(list, double);
  va_end(list);
  return static_cast<long>(sum) + recurse(1);
}

long variadic(long n) {
  return sum_of(4, static_cast<int>(n), 2.5, 3, 4.5) + sum_of(1, 2);
}

std::jmp_buf target;

[[noreturn, gnu::noinline]] void never_returns(long n) {
  stepped_sink = recurse(n % 3);
  std::longjmp(target, 1);
}
// The call is this function's last instruction.
[[gnu::noinline]] void ends_in_a_call(long n) {
  stepped_sink = n;
  never_returns(n);
}

long jumps(long n) {
  volatile long passes = 0;
  if (setjmp(target) == 0) ends_in_a_call(n);
  passes = passes + 1;
  sigjmp_buf signal_target;
  if (sigsetjmp(signal_target, 1) == 0) siglongjmp(signal_target, 1);
  return passes + recurse(1);
}

long memory(long n) {
  long sum = 0;
  for (const std::size_t size : {1UL, 7UL, 16UL, 33UL, 100UL, 256UL, 1000UL, 4096UL, 70000UL}) {
    std::vector<char> from(size + 1, 'x');
    std::vector<char> to(from.size());
    std::memcpy(to.data(), from.data(), size);
    std::memmove(to.data() + 1, to.data(), size);
    std::memset(from.data(), static_cast<int>(n), size);
    from[size] = '\0';
    sum += static_cast<long>(std::strlen(from.data())) + std::memcmp(from.data(), to.data(), size);
  }
  return sum + static_cast<long>(std::strcmp("one text", "another") + (std::strchr("abc", 'c') != nullptr));
}

long allocation(long n) {
  void* blocks[24];
  for (std::size_t i = 0; i < 24; ++i) blocks[i] = std::malloc((i * 37 % 11 + 1) * (i + 8) * 20);
  for (std::size_t i = 0; i < 24; i += 3) blocks[i] = std::realloc(blocks[i], 5000 + i);
  for (std::size_t i = 0; i < 24; ++i) std::free(blocks[i * 5 % 24]);
  std::free(std::malloc(3000000));  // mapped
  return n + static_cast<long>(std::string(static_cast<std::size_t>(n) + 40, 'y').size());
}

long lazily_bound(long n) {
  return std::labs(-n) + std::atoi("42") + static_cast<long>(std::strtod("2.5e3", nullptr)) + getppid() % 2 +
         static_cast<long>(std::strtol("77", nullptr, 10));
}

int compare(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

long sorted(long n) {
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = (i * 7919 + static_cast<int>(n)) % 101;
  std::qsort(values, 24, sizeof(int), compare);
  return values[3];
}

struct Cleaner {
  long* place;
  ~Cleaner() { *place += recurse(1); }
};

[[gnu::noinline]] void thrower(long depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  long cleaned = 0;
  const Cleaner cleaner{&cleaned};
  thrower(depth - 1);
  stepped_sink = cleaned;
}

[[gnu::noinline]] void rethrower(long depth) {
  try {
    thrower(depth);
  } catch (const std::logic_error&) {
    stepped_sink = 1;
  } catch (...) {
    throw;
  }
}

long throwing(long n) {
  try {
    rethrower(3);
  } catch (const std::exception& error) {
    return n + static_cast<long>(std::strlen(error.what()));
  }
  return 0;
}

void on_signal(int /*signal*/) {
  stepped_sink = stepped_sink + recurse(2);
}

void on_informed_signal(int signal, siginfo_t* /*info*/, void* /*context*/) {
  if (signal == SIGUSR1) raise(SIGUSR2);  // nested
  stepped_sink = stepped_sink + recurse(1);
}

long signals(long n) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGUSR2, &action, nullptr);
  raise(SIGUSR1);
  action.sa_sigaction = on_informed_signal;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
  return n + stepped_sink;
}

long alternate_stack(long n) {
  static char space[65536];
  register_foreign_stack(space, sizeof space);
  stack_t stack{};
  stack.ss_sp = space;
  stack.ss_size = sizeof space;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_informed_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);  // whose nested one goes on the same stack
  kill(getpid(), SIGUSR1);
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  return n + stepped_sink;
}

ucontext_t outer_context, inner_context;

void coroutine() {
  stepped_sink = recurse(2);
  swapcontext(&inner_context, &outer_context);
  stepped_sink = recurse(3);
}

long coroutines(long n) {
  static char space[131072];
  register_foreign_stack(space, sizeof space);
  getcontext(&inner_context);
  inner_context.uc_stack.ss_sp = space;
  inner_context.uc_stack.ss_size = sizeof space;
  inner_context.uc_link = &outer_context;
  makecontext(&inner_context, coroutine, 0);
  std::memcpy(&coroutine_end, reinterpret_cast<void*>(inner_context.uc_mcontext.gregs[REG_RSP]),
              sizeof coroutine_end);
  swapcontext(&outer_context, &inner_context);
  stepped_sink = recurse(1);
  swapcontext(&outer_context, &inner_context);
  return n + stepped_sink;
}

long clocks(long n) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return n + now.tv_sec % 2 + static_cast<long>(time(nullptr) % 2);
}

long library(long n) {
  void* handle = dlopen(STEPPED_LIBRARY, RTLD_LAZY);
  if (handle == nullptr) return 0;
  using Plugin = long (*)(long, long (*)(long));
  const auto plugin = reinterpret_cast<Plugin>(dlsym(handle, "stepped_plugin"));
  const long result = plugin(n, recurse);
  dlclose(handle);
  return result + (dlopen("no-such-library.so", RTLD_NOW) != nullptr ? 1 : 0);  // fails by a jump
}

long text(long n) {
  std::map<std::string, long> names;
  for (int i = 0; i < 4; ++i) names[std::string(20, static_cast<char>('a' + i))] = n + i;
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%ld %.3f %s", n, 2.5, names.begin()->first.c_str());
  return names.begin()->second + buffer[0];
}

void* thread_routine(void* argument) {
  return reinterpret_cast<void*>(recurse(3) + reinterpret_cast<long>(argument));
}

void* leaving_routine(void* /*argument*/) {
  const Cleaner cleaner{const_cast<long*>(&stepped_sink)};
  pthread_exit(nullptr);  // unwinds by force
}

long threads(long n) {
  pthread_t made[2];
  pthread_create(&made[0], nullptr, thread_routine, reinterpret_cast<void*>(n));
  pthread_create(&made[1], nullptr, leaving_routine, nullptr);
  void* result = nullptr;
  pthread_join(made[0], &result);
  pthread_join(made[1], nullptr);
  return reinterpret_cast<long>(result);
}

long parallel_region(long n) {
  long sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum) schedule(dynamic, 1)
  for (long i = 0; i < 6; ++i) sum += recurse(i % 3) + n;
#pragma omp parallel num_threads(2)
  {
#pragma omp critical
    sum += recurse(1);
#pragma omp barrier
#pragma omp single
    sum += 1;
  }
  return sum;
}

long children(long n) {
  const pid_t child = vfork();
  if (child == 0) _exit(3);
  int status = 0;
  waitpid(child, &status, 0);
  return n + WEXITSTATUS(status);
}

long bare_code(long n) {
  return bare_framed(n, recurse) + bare_frameless(n, recurse) + bare_saving(n, recurse);
}

struct Part {
  const char* name;
  long (*run)(long);
};

constexpr Part kParts[] = {
    {"prologues", prologues},
    {"dynamic frames", dynamic_frames},
    {"realigned", realigned},
    {"tail calls", tail_calls},
    {"variadic", variadic},
    {"jumps", jumps},
    {"memory", memory},
    {"allocation", allocation},
    {"lazily bound", lazily_bound},
    {"sorted", sorted},
    {"throwing", throwing},
    {"signals", signals},
    {"alternate stack", alternate_stack},
    {"coroutines", coroutines},
    {"clocks", clocks},
    {"library", library},
    {"text", text},
    {"threads", threads},
    {"parallel region", parallel_region},
    {"children", children},
    {"bare code", bare_code},
};

struct Static {
  Static() { stepped_sink = recurse(1); }
  ~Static() { stepped_sink = recurse(2); }
};
const Static initialized_before_main;

void before_all_initializers(int /*count*/, char** /*arguments*/, char** environment) {
  culprit::unwind::testing::start_stepper(environment);
  stepped_begin(culprit::unwind::testing::kFirstPart);
}

}  // namespace

[[gnu::section(".preinit_array"), gnu::used]] static void (*const kFirst)(int, char**,
                                                                          char**) = before_all_initializers;

int main() {
  stepped_end();
  long rounds = 1;
  if (const char* wish = std::getenv("CULPRIT_ROUNDS")) rounds = std::atol(wish);
  for (long round = 0; round < rounds; ++round) {
    for (const Part& part : kParts) {
      stepped_begin(part.name);
      stepped_sink = stepped_sink + part.run(round + 3);
      stepped_end();
    }
  }
  stepped_begin(culprit::unwind::testing::kLastPart);
  return 0;
}
