#include "machine/aarch64/flow.hpp"
#include "modules.hpp"
#include "unwind/byte_cursor.hpp"
#include "unwind/walker.hpp"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <alloca.h>
#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace stepped_test {

// Walks at every instruction of code that goes through prologues, epilogues, PLT stubs (bound lazily), the C
// library and the dynamic linker, against the truth: a shadow stack of the calls that were seen. An emulator
// cannot trace processes, so the program steps through itself: a breakpoint is put at wherever the next
// instruction leads, and the handler of SIGTRAP, on a stack of its own, walks, looks where the next one
// leads, and moves on. Pairs of exclusive loads and stores are passed in one step, as nothing may come
// between.

using namespace culprit::unwind;
using namespace culprit::unwind::testing;
using culprit::machine::aarch64::Flow;
using culprit::machine::aarch64::flow_of;

namespace {

constexpr std::uint64_t kSize = 4;
constexpr std::uint32_t kBreak = 0xd4200000;  // brk #0
constexpr std::size_t kMostCalls = 512, kMostSpots = 24;

struct Call {
  std::uint64_t back, sp;  ///< where it returns to, and its caller's stack pointer
};

struct Spot {
  std::uint64_t address;
  std::uint32_t code;
};

/// Everything that the handler needs; no allocation while the program may be within one.
struct Stepper {
  std::array<Call, kMostCalls> calls;
  std::size_t depth = 0;
  std::array<Spot, kMostSpots> spots;
  std::size_t spot_count = 0;
  std::array<std::uint64_t, Walker::kMaxDepth> outside;  ///< the callers of where stepping began
  std::size_t outside_depth = 0;
  std::uint64_t begin_sp = 0;
  std::uint64_t before = 0;  ///< the instruction that was executed last
  std::uint64_t before_sp = 0;
  Walker* fresh = nullptr;
  Walker* spliced = nullptr;
  bool on = false, ended = false;
  long steps = 0, reused = 0, bridged = 0;
  long wrong = 0, partial = 0, differing = 0;
  std::array<std::uint64_t, 8> wrong_at;
};
Stepper stepper;

std::uint32_t code_at(std::uint64_t address) {
  return load_as<std::uint32_t>(address);
}

void write_code(std::uint64_t address, std::uint32_t code) {
  constexpr std::uint64_t kPage = 4096;
  culprit::machine::system_call(SYS_mprotect, static_cast<long>(address & ~(kPage - 1)), kPage,
                                PROT_READ | PROT_WRITE | PROT_EXEC);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): registers hold numbers
  auto* place = reinterpret_cast<std::uint32_t*>(address);
  __atomic_store_n(place, code, __ATOMIC_RELAXED);
  __builtin___clear_cache(reinterpret_cast<char*>(place), reinterpret_cast<char*>(place + 1));
}

void plant(std::uint64_t address) {
  const std::uint32_t code = code_at(address);
  if (stepper.spot_count == kMostSpots || code == kBreak) return;
  stepper.spots[stepper.spot_count++] = {address, code};
  write_code(address, kBreak);
}

void remove_all() {
  for (std::size_t i = 0; i < stepper.spot_count; ++i)
    write_code(stepper.spots[i].address, stepper.spots[i].code);
  stepper.spot_count = 0;
}

bool is_exclusive(std::uint32_t code, bool loads) {
  return (code & 0x3f000000U) == 0x08000000U && (code >> 23U & 1U) == 0 && ((code >> 22U & 1U) != 0) == loads;
}

/// Behind the store that belongs to the load at `pc`, and wherever branches between lead out.
void plant_behind_pair(std::uint64_t pc) {
  constexpr int kLongest = 16;
  std::uint64_t end = pc + kSize;
  for (int i = 0; i < kLongest && !is_exclusive(code_at(end), false); ++i) end += kSize;
  for (std::uint64_t at = pc; at < end; at += kSize) {
    const Flow flow = flow_of(code_at(at));
    const std::uint64_t target = at + static_cast<std::uint64_t>(flow.distance);
    if (flow.kind == Flow::Kind::branch && (target < pc || target > end)) plant(target);
  }
  plant(end + kSize);
}

void plant_next(const mcontext_t& now) {
  const std::uint32_t code = code_at(now.pc);
  if (is_exclusive(code, true)) return plant_behind_pair(now.pc);
  const Flow flow = flow_of(code);
  const std::uint64_t target = now.pc + static_cast<std::uint64_t>(flow.distance);
  switch (flow.kind) {
    case Flow::Kind::branch:
      plant(now.pc + kSize);
      return plant(target);
    case Flow::Kind::jump:
      return plant(target);
    case Flow::Kind::call:
      return plant(flow.direct ? target : now.regs[flow.reg]);
    case Flow::Kind::computed:
    case Flow::Kind::ret:
      return plant(now.regs[flow.reg]);
    default:
      return plant(now.pc + kSize);
  }
}

/// What the instruction before has done to the calls that are open.
void follow(const mcontext_t& now) {
  const Flow flow = flow_of(code_at(stepper.before));
  if (flow.kind == Flow::Kind::call && stepper.depth < kMostCalls) {
    stepper.calls[stepper.depth++] = {stepper.before + kSize, stepper.before_sp};
    return;
  }
  while (stepper.depth != 0) {
    const Call& last = stepper.calls[stepper.depth - 1];
    const bool returned = (flow.kind == Flow::Kind::ret || flow.kind == Flow::Kind::computed) &&
                          now.pc == last.back && now.sp == last.sp;
    if (!returned && now.sp <= last.sp) break;
    --stepper.depth;
    if (returned) break;
  }
}

bool is_true(const Walk& walk, std::uint64_t pc) {
  if (walk.depth != 1 + stepper.depth + stepper.outside_depth || walk.frames[0].pc != pc) return false;
  for (std::size_t i = 0; i < stepper.depth; ++i) {
    if (walk.frames[1 + i].pc != stepper.calls[stepper.depth - 1 - i].back) return false;
  }
  for (std::size_t i = 0; i < stepper.outside_depth; ++i) {
    if (walk.frames[1 + stepper.depth + i].pc != stepper.outside[i]) return false;
  }
  return true;
}

bool is_same(const Walk& a, const Walk& b) {
  if (a.depth != b.depth || a.end != b.end) return false;
  for (std::size_t i = 0; i < a.depth; ++i) {
    const Frame& x = a.frames[i];
    const Frame& y = b.frames[i];
    if (x.pc != y.pc || x.cfa != y.cfa || x.offset != y.offset || x.origin != y.origin ||
        x.bridged != y.bridged)
      return false;
  }
  return true;
}

void compare(const void* context, std::uint64_t pc) {
  const Registers start = registers_of(context);
  const Walk spliced = stepper.spliced->walk(start);
  stepper.fresh->invalidate();
  const Walk fresh = stepper.fresh->walk(start);
  ++stepper.steps;
  stepper.reused += static_cast<long>(spliced.depth - spliced.fresh);
  if (fresh.bridged) ++stepper.bridged;
  if (!is_same(spliced, fresh)) ++stepper.differing;
  if (fresh.end == WalkEnd::root && is_true(fresh, pc)) return;
  const long bad = stepper.wrong + stepper.partial;
  if (bad < static_cast<long>(stepper.wrong_at.size())) stepper.wrong_at[static_cast<std::size_t>(bad)] = pc;
  ++(fresh.end == WalkEnd::root ? stepper.wrong : stepper.partial);
}

void on_break(int /*signal*/, siginfo_t* /*info*/, void* context) {
  remove_all();
  mcontext_t& now = static_cast<ucontext_t*>(context)->uc_mcontext;
  if (!stepper.on) {  // the first of all: steps over itself, into whose callers nobody looks any more
    now.pc += kSize;
    stepper.on = true;
    stepper.depth = 0;
    stepper.begin_sp = now.sp;
    const Walk walk = stepper.fresh->walk(registers_of(context));
    stepper.outside_depth = walk.depth - 1;
    for (std::size_t i = 1; i < walk.depth; ++i) stepper.outside[i - 1] = walk.frames[i].pc;
  } else {
    follow(now);
    compare(context, now.pc);
  }
  if (stepper.ended || now.sp > stepper.begin_sp) {
    stepper.on = false;
    return;
  }
  stepper.before = now.pc;
  stepper.before_sp = now.sp;
  plant_next(now);
}

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

std::jmp_buf target;

[[gnu::noinline]] void jump_back(long n) {
  sink = recurse(n);
  asm volatile("");
}

[[gnu::noinline]] long stepped(long n) {
  volatile long sum = 0;
  asm volatile("brk #0" : : : "memory");
  sum = in_registers(n, n + 1, n + 2, n + 3) + recurse(5);
  sum = sum + with_dynamic_frame(n * 16) + with_dynamic_frame(n * 3000) + with_large_frame(n);
  sum = sum + sum_of(4, static_cast<int>(n), 2.5, 3, 4.5) + tail_caller(n);
  if (setjmp(target) == 0) jump_back(1);
  sum = sum + library_calls(n);
  stepper.ended = true;
  asm volatile("" : : : "memory");
  return sum + recurse(1);
}

}  // namespace

TEST_CASE("walks are true at every instruction, spliced and afresh") {
  const auto fresh = make_walker(), spliced = make_walker();
  stepper.fresh = fresh.get();
  stepper.spliced = spliced.get();
  constexpr std::size_t kStack = std::size_t{1} << 20U;
  std::vector<char> space(kStack);
  stack_t stack{}, stack_before{};
  stack.ss_sp = space.data();
  stack.ss_size = space.size();
  sigaltstack(&stack, &stack_before);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_sigaction = on_break;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGTRAP, &action, &before);
  sink = stepped(3);
  sigaction(SIGTRAP, &before, nullptr);
  sigaltstack(&stack_before, nullptr);
  CAPTURE(stepper.steps, stepper.reused, stepper.bridged);
  std::string places;
  for (long i = 0; i < std::min(8L, stepper.wrong + stepper.partial); ++i) {
    Dl_info info{};
    const std::uint64_t pc = stepper.wrong_at[static_cast<std::size_t>(i)];
    // NOLINTNEXTLINE(performance-no-int-to-ptr): registers hold numbers
    dladdr(reinterpret_cast<void*>(pc), &info);
    const auto base = reinterpret_cast<std::uint64_t>(info.dli_fbase);
    places +=
        std::string(info.dli_fname == nullptr ? "?" : info.dli_fname) + "+" + std::to_string(pc - base) + " ";
  }
  CAPTURE(places);
  CHECK(stepper.steps > 5'000);
  CHECK(stepper.reused > stepper.steps);
  CHECK(stepper.differing == 0);
  CHECK(stepper.partial == 0);
  CHECK(stepper.wrong == 0);
}

}  // namespace stepped_test
