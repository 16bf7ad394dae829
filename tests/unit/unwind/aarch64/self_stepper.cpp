#include "aarch64/self_stepper.hpp"

#include "machine/aarch64/flow.hpp"
#include "modules.hpp"
#include "reference.hpp"
#include "unwind/byte_cursor.hpp"
#include "unwind/call_frame.hpp"
#include "unwind/walker.hpp"

#include <algorithm>
#include <cstdio>

#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace culprit::unwind::testing {

using machine::aarch64::Flow;
using machine::aarch64::flow_of;

namespace {

constexpr std::uint64_t kSize = 4;
constexpr std::uint32_t kBreak = 0xd4200000;        // brk #0
constexpr std::uint64_t kSignalReturnNumber = 139;  // of the system call
constexpr std::size_t kMostCalls = 512, kMostSpots = 24, kMostHandlers = 4;

/// A call, or a signal that came.
struct Call {
  std::uint64_t back, sp;         ///< where it returns to, and its caller's stack pointer
  const ucontext_t* interrupted;  ///< of a signal: `back` may be changed there
  bool binds;                     ///< its target is still to be found, by the dynamic linker
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
  std::array<std::uint64_t, kMostHandlers> handlers;
  std::size_t handler_count = 0;
  std::array<std::uint64_t, Walker::kMaxDepth> outside;  ///< the callers of where stepping began
  std::size_t outside_depth = 0;
  std::uint64_t begin_sp = 0;
  std::uint64_t before = 0;  ///< the instruction that was executed last
  std::uint64_t before_sp = 0;
  bool left_handler = false;  ///< it was the kernel's return
  Walker* fresh = nullptr;
  Walker* spliced = nullptr;
  Bounds stack, handlers_stack;
  bool on = false, ended = false;
  Stepped seen;
};
Stepper stepper;

std::uint32_t code_at(std::uint64_t address) {
  return load_as<std::uint32_t>(address);
}

bool is_system_call(std::uint32_t code) {
  return (code & 0xffe0001fU) == 0xd4000001U;
}

void write_code(std::uint64_t address, std::uint32_t code) {
  constexpr std::uint64_t kPage = 4096;
  machine::system_call(SYS_mprotect, static_cast<long>(address & ~(kPage - 1)), kPage,
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

void plant_handlers() {
  for (std::size_t i = 0; i < stepper.handler_count; ++i) plant(stepper.handlers[i]);
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

/// How far out a stack pointer lies: what handlers use lies below all else.
std::uint64_t place_of(std::uint64_t sp) {
  const Bounds& below = stepper.handlers_stack;
  return sp >= below.low && sp <= below.high ? sp - below.low : sp;
}

std::uint64_t back_of(const Call& call) {
  return call.interrupted != nullptr ? call.interrupted->uc_mcontext.pc : call.back;
}

void push(std::uint64_t back, std::uint64_t sp, const ucontext_t* interrupted) {
  if (stepper.depth < kMostCalls) stepper.calls[stepper.depth++] = {back, sp, interrupted, false};
}

/// Whether the handler on top of the calls is about to go to the kernel's return from it, which is `target`.
bool leaves_handler(std::uint64_t target, std::uint64_t sp) {
  if (stepper.depth < 2 || stepper.calls[stepper.depth - 2].interrupted == nullptr) return false;
  const Call& handler = stepper.calls[stepper.depth - 1];
  return target == handler.back && sp == handler.sp;
}

/// The kernel has built a frame below what it interrupted: siginfo_t, then the context. True if what it says
/// is what was seen.
bool enter_handler(const mcontext_t& now, std::uint32_t code_before) {
  constexpr std::uint64_t kInformation = 128;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): registers hold numbers
  const auto* context = reinterpret_cast<const ucontext_t*>(now.sp + kInformation);
  const std::uint64_t pc = stepper.before + (is_system_call(code_before) ? kSize : 0);
  push(pc, stepper.before_sp, context);
  push(now.regs[30], now.sp, nullptr);
  return context->uc_mcontext.pc == pc && context->uc_mcontext.sp == stepper.before_sp;
}

bool at_handler(std::uint64_t pc) {
  return std::find(stepper.handlers.begin(), stepper.handlers.begin() + stepper.handler_count, pc) !=
         stepper.handlers.begin() + stepper.handler_count;
}

/// Whether call-frame information describes the code there.
bool is_described(std::uint64_t pc) {
  CodeModule module;
  FrameDescription description;
  return find_loaded_module(nullptr, pc, module) && find_description(module, pc, description);
}

/// What a return, or a jump to where a register says, has done. The head of a PLT has pushed two registers
/// when it jumps to the dynamic linker, which takes them off before it jumps to the function that was called.
void follow_jump(const mcontext_t& now) {
  Call& last = stepper.calls[stepper.depth - 1];
  if (now.pc == last.back && now.sp == last.sp) {
    --stepper.depth;
  } else if (!last.binds) {
    last.binds = now.sp < last.sp && !is_described(stepper.before);
  } else if (now.sp == last.sp) {
    last.binds = false;
  }
}

/// What the instruction before has done to the calls that are open.
void follow(const mcontext_t& now) {
  const std::uint32_t code = code_at(stepper.before);
  const Flow flow = flow_of(code);
  if (stepper.left_handler) {
    stepper.left_handler = false;
  } else if ((is_system_call(code) || flow.kind == Flow::Kind::trap) && at_handler(now.pc)) {
    if (!enter_handler(now, code)) stepper.seen.wrong.add(now.pc);
  } else if (flow.kind == Flow::Kind::call) {
    push(stepper.before + kSize, stepper.before_sp, nullptr);
  } else if ((flow.kind == Flow::Kind::ret || flow.kind == Flow::Kind::computed) && stepper.depth != 0) {
    follow_jump(now);
  }
  while (stepper.depth != 0 && place_of(now.sp) > place_of(stepper.calls[stepper.depth - 1].sp))
    --stepper.depth;
}

template <typename At>
bool is_true(At at, std::size_t depth, std::uint64_t pc) {
  if (depth != 1 + stepper.depth + stepper.outside_depth || at(0) != pc) return false;
  for (std::size_t i = 0; i < stepper.depth; ++i) {
    if (at(1 + i) != back_of(stepper.calls[stepper.depth - 1 - i])) return false;
  }
  for (std::size_t i = 0; i < stepper.outside_depth; ++i) {
    if (at(1 + stepper.depth + i) != stepper.outside[i]) return false;
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

bool reference_is_true(const mcontext_t& now) {
  static std::array<std::uint64_t, Walker::kMaxDepth> found;
  std::array<std::uint64_t, 33> registers{};  // x0 to x30, sp, pc
  std::copy_n(now.regs, 31, registers.begin());
  registers[31] = now.sp;
  registers[32] = now.pc;
  const std::size_t most = std::min(found.size(), 2 + stepper.depth + stepper.outside_depth);
  const std::size_t depth =
      ask_reference(registers, stepper.stack.low, stepper.stack.high, found.data(), most);
  return is_true([](std::size_t i) { return found[i]; }, depth, now.pc);
}

template <typename Is>
bool any_call(Is is) {
  const Call* calls = stepper.calls.data();
  return std::any_of(calls, calls + stepper.depth, is);
}

/// What kind of place this is, for the counts. True: one at which libunwind has no reason to fail. It knows
/// neither code without call-frame information, but for the first instruction of a PLT's stub and of the
/// kernel's return from a handler, nor the 16 bytes that the head of a PLT pushes, which glibc's own rule for
/// its resolver leaves out.
bool count(const mcontext_t& now) {
  ++stepper.seen.steps;
  const bool interrupted = any_call([](const Call& call) { return call.interrupted != nullptr; });
  const bool binding = any_call([](const Call& call) { return call.binds; });
  const bool described = is_described(now.pc);
  if (interrupted) ++stepper.seen.interrupted;
  if (binding) ++stepper.seen.binding;
  if (!described) ++stepper.seen.bare;
  if ((now.regs[30] & ~machine::Aarch64::kAddressMask) != 0) ++stepper.seen.is_signed;
  return described && !binding;
}

void compare(const ucontext_t& context) {
  const mcontext_t& now = context.uc_mcontext;
  const Registers start = registers_of(&context);
  Stepped& seen = stepper.seen;
  const bool plain = count(now);
  const Walk spliced = stepper.spliced->walk(start);
  stepper.fresh->invalidate();
  const Walk fresh = stepper.fresh->walk(start);
  seen.frames += static_cast<long>(fresh.depth);
  seen.reused += static_cast<long>(spliced.depth - spliced.fresh);
  if (fresh.bridged) ++seen.bridged;
  if (!is_same(spliced, fresh)) seen.differing.add(now.pc);
  const bool whole = fresh.end == WalkEnd::root;
  const bool ours = whole && is_true([&](std::size_t i) { return fresh.frames[i].pc; }, fresh.depth, now.pc);
  const bool reference = reference_is_true(now);
  if (!ours) (whole ? seen.wrong : seen.partial).add(now.pc);
  if (!reference) ++seen.reference;
  if (!reference && plain) seen.unexplained.add(now.pc);
}

/// The handler returns to the kernel's two instructions, by which ours returns, too: there can be no
/// breakpoint in them. All registers are known that they are executed with.
void leave_handler(const ucontext_t& context) {
  static ucontext_t imagined;
  imagined = context;
  mcontext_t& now = imagined.uc_mcontext;
  const std::uint64_t first = stepper.calls[stepper.depth - 1].back;
  --stepper.depth;
  for (int i = 0; i < 2; ++i) {
    now.pc = first + static_cast<std::uint64_t>(i) * kSize;
    if (i == 1) now.regs[8] = kSignalReturnNumber;
    compare(imagined);
    ++stepper.seen.leaving;
  }
  --stepper.depth;
  stepper.left_handler = true;
  plant(back_of(stepper.calls[stepper.depth]));
}

void plant_next(const ucontext_t& context) {
  const mcontext_t& now = context.uc_mcontext;
  const std::uint32_t code = code_at(now.pc);
  if (is_exclusive(code, true)) return plant_behind_pair(now.pc);
  const Flow flow = flow_of(code);
  const std::uint64_t target = now.pc + static_cast<std::uint64_t>(flow.distance);
  if (is_system_call(code) || flow.kind == Flow::Kind::trap) plant_handlers();
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
      if (leaves_handler(now.regs[flow.reg], now.sp)) return leave_handler(context);
      return plant(now.regs[flow.reg]);
    case Flow::Kind::trap:
      return;
    default:
      return plant(now.pc + kSize);
  }
}

/// The first of all breakpoints: steps over itself, into whose callers nobody looks any more.
void begin(ucontext_t& context) {
  mcontext_t& now = context.uc_mcontext;
  now.pc += kSize;
  stepper.on = true;
  stepper.depth = 0;
  stepper.begin_sp = now.sp;
  const Walk walk = stepper.fresh->walk(registers_of(&context));
  stepper.outside_depth = walk.depth - 1;
  for (std::size_t i = 1; i < walk.depth; ++i) stepper.outside[i - 1] = walk.frames[i].pc;
  static_cast<void>(reference_is_true(now));  // binds what libunwind calls
}

void on_break(int /*signal*/, siginfo_t* /*info*/, void* handed) {
  remove_all();
  auto& context = *static_cast<ucontext_t*>(handed);
  const mcontext_t& now = context.uc_mcontext;
  if (!stepper.on) {
    begin(context);
  } else {
    follow(now);
    compare(context);
  }
  if (stepper.ended || place_of(now.sp) > stepper.begin_sp) {
    stepper.on = false;
    return;
  }
  stepper.before = now.pc;
  stepper.before_sp = now.sp;
  plant_next(context);
}

}  // namespace

void Places::add(std::uint64_t pc) {
  ++count_;
  Place* end = places_.begin() + used_;
  Place* place = std::find_if(places_.begin(), end, [pc](const Place& one) { return one.pc == pc; });
  if (place != end) {
    ++place->count;
  } else if (used_ != places_.size()) {
    places_[used_++] = {pc, 1};
  }
}

std::string Places::text() const {
  std::string text;
  for (std::size_t i = 0; i < used_; ++i) {
    const Place& place = places_[i];
    Dl_info info{};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): registers hold numbers
    const bool known = dladdr(reinterpret_cast<void*>(place.pc), &info) != 0;
    const std::uint64_t offset = place.pc - reinterpret_cast<std::uint64_t>(info.dli_fbase);
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "+%#lx x%ld ", known ? offset : place.pc, place.count);
    text += std::string(known ? info.dli_fname : "?") + digits.data();
    if (known && info.dli_sname != nullptr) text += std::string("(") + info.dli_sname + ") ";
  }
  return text;
}

void handle(int signal, int flags, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigaction(signal, &action, nullptr);
  const auto entry = reinterpret_cast<std::uint64_t>(handler);
  if (!at_handler(entry) && stepper.handler_count != kMostHandlers)
    stepper.handlers[stepper.handler_count++] = entry;
}

void end_stepping() {
  stepper.ended = true;
}

const Stepped& step_through(long (*part)(long), long number) {
  alignas(64) static std::array<char, std::size_t{1} << 20U> space;
  const auto fresh = make_walker(), spliced = make_walker();
  stepper.fresh = fresh.get();
  stepper.spliced = spliced.get();
  stepper.stack = this_stack();
  stepper.handlers_stack.low = reinterpret_cast<std::uint64_t>(space.data());
  stepper.handlers_stack.high = stepper.handlers_stack.low + space.size();
  prepare_reference();
  stack_t stack{}, stack_before{};
  stack.ss_sp = space.data();
  stack.ss_size = space.size();
  sigaltstack(&stack, &stack_before);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_sigaction = on_break;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGTRAP, &action, &before);
  stepper.seen.result = part(number);
  sigaction(SIGTRAP, &before, nullptr);
  sigaltstack(&stack_before, nullptr);
  return stepper.seen;
}

}  // namespace culprit::unwind::testing
