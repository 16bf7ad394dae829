#include "aarch64/self_stepper.hpp"

#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include <alloca.h>
#include <catch2/catch.hpp>
#include <ucontext.h>

// Functions that a signal interrupts (udf: SIGILL) where they have no frame, half a frame, and a return
// address that is signed: instructions of pointer authentication, which are hints, as
// -mbranch-protection=standard has them.
asm(R"(
  .text
  .globl interrupted_leaf
  .type interrupted_leaf, %function
interrupted_leaf:
  .cfi_startproc
  udf #0
  add x0, x0, #1
  udf #0
  ret
  .cfi_endproc
  .size interrupted_leaf, . - interrupted_leaf

  .globl interrupted_frame
  .type interrupted_frame, %function
interrupted_frame:
  .cfi_startproc
  udf #0
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  udf #0
  str x19, [sp, #16]
  .cfi_offset x19, -16
  mov x29, sp
  udf #0
  mov x19, x0
  bl interrupted_leaf
  add x0, x0, x19
  ldr x19, [sp, #16]
  .cfi_restore x19
  ldp x29, x30, [sp], #32
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  udf #0
  ret
  .cfi_endproc
  .size interrupted_frame, . - interrupted_frame

  .globl interrupted_signed
  .type interrupted_signed, %function
interrupted_signed:
  .cfi_startproc
  udf #0
  hint #25  // paciasp
  .cfi_negate_ra_state
  udf #0
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  udf #0
  bl interrupted_leaf
  ldp x29, x30, [sp], #16
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  udf #0
  hint #29  // autiasp
  .cfi_negate_ra_state
  udf #0
  ret
  .cfi_endproc
  .size interrupted_signed, . - interrupted_signed
)");

extern "C" {
long interrupted_leaf(long n);
long interrupted_frame(long n);
long interrupted_signed(long n);
}

namespace stepped_test {

// Code that goes through prologues, epilogues, PLT stubs (bound lazily), veneers, signals' handlers, the C
// library and the dynamic linker, and at each of its instructions the walks from there (self_stepper.hpp).

using namespace culprit::unwind::testing;

namespace {

// raise() three times, and udf: interrupted_leaf is called three times.
constexpr long kSignals = 3 + 3 * 2 + 4 + 5;

volatile long sink;

[[gnu::noinline]] long recurse(long depth) {
  const long below = depth == 0 ? sink : recurse(depth - 1);
  asm volatile("");
  return below + depth;
}

[[gnu::noinline]] long in_registers(long a, long b, long c, long d) {
  long e = a * 3, f = b * 5, g = c * 7, h = d * 11;
  for (int i = 0; i < 3; ++i) {
    e += recurse(2);
    f ^= e + recurse(1);
    g += f;
    h -= g;
  }
  return e + f + g + h;
}

[[gnu::noinline]] long with_dynamic_frame(long n) {
  auto* space = static_cast<volatile char*>(alloca(static_cast<std::size_t>(n) + 40));
  space[0] = 1;
  return space[0] + recurse(1);
}

[[gnu::noinline]] long with_large_frame(long n) {
  volatile char space[70000];
  space[n] = 1;
  return space[n] + recurse(1);
}

[[gnu::noinline]] long sum_of(int count, ...) {
  va_list list;
  va_start(list, count);
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += i % 2 == 0 ? va_arg(list, int) : va_arg(list, double);
  va_end(list);
  return static_cast<long>(sum) + recurse(1);
}

[[gnu::noinline]] long tail_target(long n) {
  return n * 3 + recurse(1);
}
[[gnu::noinline]] long tail_caller(long n) {
  sink = n;
  return tail_target(n + 1);
}

int order(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

[[gnu::noinline]] long library_calls(long n) {
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = (i * 7919 + static_cast<int>(n)) % 101;
  std::qsort(values, 24, sizeof(int), order);
  std::map<std::string, long> names;
  for (int i = 0; i < 3; ++i) names[std::string(20, static_cast<char>('a' + i))] = n + i;
  char text[64];
  std::snprintf(text, sizeof text, "%ld %.3f %s", n, 2.5, names.begin()->first.c_str());
  void* block = std::realloc(std::malloc(100), 5000);
  std::memset(block, 1, 5000);
  std::free(block);
  return values[3] + text[0] + std::labs(-n) + std::atoi("42") +
         static_cast<long>(std::strtod("2.5e3", nullptr)) + static_cast<long>(std::strlen(text));
}

// Where the linker's option puts it beyond a call's reach (CMakeLists.txt), calls go through a veneer.
[[gnu::noinline, gnu::section(".far")]] long far_function(long n) {
  const long below = recurse(n % 2);
  asm volatile("");
  return below + n;
}

void on_signal(int signal, siginfo_t* /*info*/, void* /*context*/) {
  if (signal == SIGUSR1) raise(SIGUSR2);  // nested, on the other stack
  sink = sink + recurse(1);
}

void on_illegal(int /*signal*/, siginfo_t* /*info*/, void* context) {
  sink = sink + recurse(1);
  static_cast<ucontext_t*>(context)->uc_mcontext.pc += 4;
}

[[gnu::noinline]] long signals() {
  raise(SIGUSR1);
  raise(SIGUSR2);
  return sink;
}

[[gnu::noinline]] long interrupted(long n) {
  const long sum = interrupted_leaf(n) + interrupted_frame(n) + interrupted_signed(n);
  asm volatile("");
  return sum;
}

std::jmp_buf target;

[[gnu::noinline]] void jump_back(long n) {
  sink = recurse(n);
  asm volatile("");
}

[[gnu::noinline]] long stepped(long n) {
  volatile long sum = 0;
  begin_stepping();
  sum = in_registers(n, n + 1, n + 2, n + 3) + recurse(5);
  sum = sum + with_dynamic_frame(n * 16) + with_dynamic_frame(n * 3000) + with_large_frame(n);
  sum = sum + sum_of(4, static_cast<int>(n), 2.5, 3, 4.5) + tail_caller(n);
  if (setjmp(target) == 0) jump_back(1);
  sum = sum + library_calls(n) + far_function(n) + signals() + interrupted(n);
  end_stepping();
  return sum + recurse(1);
}

}  // namespace

TEST_CASE("walks are true at every instruction, as libunwind's are where it knows enough") {
  handle(SIGUSR1, 0, on_signal);
  handle(SIGUSR2, SA_ONSTACK, on_signal);
  handle(SIGILL, 0, on_illegal);
  const Stepped& seen = step_through(stepped, 3);
  for (const int signal : {SIGUSR1, SIGUSR2, SIGILL}) std::signal(signal, SIG_DFL);
  if (std::getenv("CULPRIT_STEP_DETAILS") != nullptr)
    std::printf(
        "%ld instructions, %ld of %ld frames spliced, %ld walks bridged; %ld below handlers, %ld binding, "
        "%ld bare, "
        "%ld signed, libunwind wrong at %ld\n",
        seen.steps, seen.reused, seen.frames, seen.bridged, seen.interrupted, seen.binding, seen.bare,
        seen.is_signed, seen.reference);
  CAPTURE(seen.steps, seen.reused, seen.bridged, seen.bare, seen.reference);
  CHECK(seen.steps > 5'000);
  CHECK(seen.reused > seen.steps);
  CHECK(seen.interrupted > 500);
  CHECK(seen.leaving == 2 * kSignals);
  CHECK(seen.bare > 50);
  CHECK(seen.is_signed > 5);
  CHECK(seen.differing.text() == "");
  CHECK(seen.partial.text() == "");
  CHECK(seen.wrong.text() == "");
  CHECK(seen.unexplained.text() == "");
}

}  // namespace stepped_test
