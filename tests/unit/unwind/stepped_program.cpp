#include "stepped_program.hpp"

#include <csignal>
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
#include <unistd.h>

#define JOIN_NAMES(a, b) a##b
#define JOIN(a, b) JOIN_NAMES(a, b)

namespace culprit::unwind::testing {

namespace {

volatile long sink = 0;

[[gnu::noinline]] long recurse(int depth) {
  if (depth == 0) return sink;
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

long prologues(int n) {
  return in_registers(n, n + 1, n + 2, n + 3) + recurse(5);
}

[[gnu::noinline]] long with_dynamic_frame(int n) {
  auto* space = static_cast<volatile char*>(alloca(static_cast<unsigned>(n) + 40));
  space[0] = 1;
  return space[0] + recurse(1);
}

long dynamic_frames(int n) {
  return with_dynamic_frame(n * 16) + with_dynamic_frame(n + 100);
}

[[gnu::noinline]] long realigned_frame(long n) {
  alignas(64) volatile double values[16];
  for (int i = 0; i < 16; ++i) values[i] = static_cast<double>(n + i);
  return static_cast<long>(values[3]) + recurse(2);
}

long realigned(int n) {
  return realigned_frame(n) + realigned_frame(n + 1);
}

long memory(int n) {
  std::vector<char> from(static_cast<std::size_t>(n) * 10 + 300, 'x');
  std::vector<char> to(from.size());
  std::memcpy(to.data(), from.data(), from.size());
  std::memset(from.data(), n, from.size());
  void* block = std::malloc(static_cast<std::size_t>(n) * 100 + 100);
  block = std::realloc(block, 5000);
  std::free(block);
  return to[5] + static_cast<long>(std::strlen("some text to measure"));
}

long lazily_bound(int n) {
  // Every compiled variant has its own call sites but one shared PLT: what is bound already runs through the
  // bound stub.
  return std::labs(-n) + std::atoi("42") + static_cast<long>(std::strtod("2.5e3", nullptr)) + getppid() % 2;
}

int compare(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

long sorted(int n) {
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = (i * 7919 + n) % 101;
  std::qsort(values, 24, sizeof(int), compare);
  return values[3];
}

struct Cleaner {
  long* place;
  ~Cleaner() { *place += 1; }
};

[[gnu::noinline]] void thrower(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  long cleaned = 0;
  const Cleaner cleaner{&cleaned};
  thrower(depth - 1);
  sink = cleaned;
}

long throwing(int n) {
  try {
    thrower(3);
  } catch (const std::exception& error) {
    return n + static_cast<long>(std::strlen(error.what()));
  }
  return 0;
}

void on_signal(int /*signal*/) {
  culprit_start_stepping();  // the kernel does not trace handlers by itself
  sink = sink + recurse(2);
}

long signals(int n) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, &before);
  kill(getpid(), SIGUSR1);  // not raise(), which blocks SIGTRAP: fatal while stepping
  // Again on an alternate stack.
  static char memory[65536];
  stack_t stack{};
  stack_t old_stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  sigaltstack(&stack, &old_stack);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  kill(getpid(), SIGUSR1);
  sigaction(SIGUSR1, &before, nullptr);
  stack_t off{};
  off.ss_flags = SS_DISABLE;
  sigaltstack((old_stack.ss_flags & SS_DISABLE) != 0 ? &off : &old_stack, nullptr);
  return n + sink;
}

long clocks(int n) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  clock_gettime(CLOCK_REALTIME, &now);
  return n + now.tv_sec % 2 + static_cast<long>(time(nullptr) % 2);
}

long library(int n) {
  std::map<std::string, int> names;
  for (int i = 0; i < 4; ++i) names[std::string(20, static_cast<char>('a' + i))] = n + i;
  char text[64];
  std::snprintf(text, sizeof text, "%d %.3f %s", n, 2.5, names.begin()->first.c_str());
  void* handle = dlopen("libm.so.6", RTLD_NOW);
  const bool found = dlsym(handle, "cbrt") != nullptr;
  dlclose(handle);
  return names.begin()->second + text[0] + (found ? 1 : 0);
}

constexpr SteppedPart kParts[kSteppedParts] = {
    {"prologues", prologues},
    {"dynamic frames", dynamic_frames},
    {"realigned", realigned},
    {"memory", memory},
    {"lazily bound", lazily_bound},
    {"sorted", sorted},
    {"throwing", throwing},
    {"signals", signals},
    {"clocks", clocks},
    {"library", library},
};

}  // namespace

const SteppedPart* JOIN(stepped_parts_, STEPPED_NAME)() {
  return kParts;
}

}  // namespace culprit::unwind::testing
