#define UNW_LOCAL_ONLY
#include "modules.hpp"
#include "stepped_program.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <dlfcn.h>
#include <libunwind.h>

// Every instruction of a program is an unwinding problem: here each is solved three times, by a walker that
// splices, by one that walks afresh, and by libunwind, and the answers compared.

using namespace culprit::unwind;
using namespace culprit::unwind::testing;

asm(R"(
  .text
  .globl culprit_start_stepping
  .type culprit_start_stepping, @function
culprit_start_stepping:
  .cfi_startproc
  pushfq
  .cfi_adjust_cfa_offset 8
  orq $0x100, (%rsp)
  popfq
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size culprit_start_stepping, . - culprit_start_stepping
  .globl culprit_stop_stepping
  .type culprit_stop_stepping, @function
culprit_stop_stepping:
  .cfi_startproc
  pushfq
  .cfi_adjust_cfa_offset 8
  andq $~0x100, (%rsp)
  popfq
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size culprit_stop_stepping, . - culprit_stop_stepping
)");

namespace {

constexpr std::size_t kMaxFrames = 200;

struct Answer {
  std::uint64_t pc[kMaxFrames];
  std::size_t depth;
};

struct Tally {
  Walker* splicing;
  Walker* fresh;
  long steps, limit;
  long partial, spliced_differently, unlike_reference, reused_frames, frames;
  long replacing_stack;  // partial while the exception machinery replaces its own frames: rules cannot say it
  long stale_reference;  // differences that vanish when libunwind forgets its cache
  Answer ours, reference;  // the first difference from the reference
  Frame first_partial[kMaxFrames];
  std::size_t first_partial_depth;
};

Tally tally;

void ask_reference(void* context, Answer& answer) {
  unw_cursor_t cursor;
  answer.depth = 0;
  if (unw_init_local2(&cursor, static_cast<unw_context_t*>(context), UNW_INIT_SIGNAL_FRAME) != 0) return;
  do {
    unw_word_t pc = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &pc);
    if (pc == 0) break;
    answer.pc[answer.depth++] = pc;
  } while (answer.depth < kMaxFrames && unw_step(&cursor) > 0);
}

bool same(const Walk& a, const Walk& b) {
  if (a.depth != b.depth || a.end != b.end) return false;
  for (std::size_t i = 0; i < a.depth; ++i) {
    const Frame& x = a.frames[i];
    const Frame& y = b.frames[i];
    if (x.pc != y.pc || x.cfa != y.cfa || x.offset != y.offset || x.module != y.module ||
        x.origin != y.origin || x.bridged != y.bridged)
      return false;
  }
  return true;
}

bool agrees(const Walk& walk, const Answer& answer) {
  if (walk.depth != answer.depth) return false;
  for (std::size_t i = 0; i < walk.depth; ++i) {
    if (walk.frames[i].pc != answer.pc[i]) return false;
  }
  return true;
}

/// In the last instructions before it jumps to a landing pad, libgcc has overwritten its own return address
/// and saved registers, and no rule describes its frame.
bool in_exception_machinery(const Walk& walk) {
  Dl_info info{};
  return walk.depth != 0 && dladdr(reinterpret_cast<void*>(walk.frames[0].pc), &info) != 0 &&
         std::strstr(info.dli_fname, "libgcc_s") != nullptr;
}

/// libunwind caches rules by pc alone, whether it was a return address (whose rule is that of the byte
/// before) or exact: what it answers after seeing a landing pad both ways is wrong until its cache is
/// flushed.
bool agrees_after_flush(void* context, const Walk& walk, Answer& answer) {
  unw_flush_cache(unw_local_addr_space, 0, 0);
  ask_reference(context, answer);
  return agrees(walk, answer);
}

void on_trap(int /*signal*/, siginfo_t* /*info*/, void* context) {
  if (++tally.steps > tally.limit) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
    return;
  }
  const Registers registers = registers_of(context);
  const Walk spliced = tally.splicing->walk(registers);
  tally.fresh->forget_path();
  const Walk fresh = tally.fresh->walk(registers);
  tally.frames += static_cast<long>(fresh.depth);
  tally.reused_frames += static_cast<long>(spliced.depth - spliced.fresh);
  if (!same(spliced, fresh)) ++tally.spliced_differently;
  const bool partial = fresh.end == WalkEnd::partial;
  if (partial && in_exception_machinery(fresh)) {
    ++tally.replacing_stack;
    return;
  }
  if (partial && tally.partial++ == 0) {
    tally.first_partial_depth = fresh.depth;
    for (std::size_t i = 0; i < fresh.depth && i < kMaxFrames; ++i) tally.first_partial[i] = fresh.frames[i];
  }
  static Answer answer;
  ask_reference(context, answer);
  if (agrees(fresh, answer)) return;
  if (agrees_after_flush(context, fresh, answer)) {
    ++tally.stale_reference;
  } else if (tally.unlike_reference++ == 0) {
    tally.reference = answer;
    tally.ours.depth = fresh.depth;
    for (std::size_t i = 0; i < fresh.depth && i < kMaxFrames; ++i) tally.ours.pc[i] = fresh.frames[i].pc;
  }
}

std::string describe(std::uint64_t pc) {
  CodeModule module;
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(pc), &info);
  char text[256];
  const bool known = find_loaded_module(nullptr, pc, module);
  std::snprintf(text, sizeof text, "%s+%#llx %s", info.dli_fname != nullptr ? info.dli_fname : "?",
                static_cast<unsigned long long>(known ? pc - module.bias : pc),
                info.dli_sname != nullptr ? info.dli_sname : "");
  return text;
}

std::string differences() {
  std::string text;
  for (std::size_t i = 0; i < tally.ours.depth || i < tally.reference.depth; ++i) {
    text += std::to_string(i) + ": " + (i < tally.ours.depth ? describe(tally.ours.pc[i]) : "-");
    if (i >= tally.reference.depth || i >= tally.ours.depth || tally.reference.pc[i] != tally.ours.pc[i])
      text += "   libunwind: " + (i < tally.reference.depth ? describe(tally.reference.pc[i]) : "-");
    text += "\n";
  }
  for (std::size_t i = 0; i < tally.first_partial_depth; ++i)
    text += "partial " + std::to_string(i) + ": " + describe(tally.first_partial[i].pc) + "\n";
  return text;
}

long step_through(const SteppedPart& part, int argument) {
  culprit_start_stepping();
  const long result = part.run(argument);
  culprit_stop_stepping();
  return result;
}

void check_program(const SteppedPart* parts) {
  const char* wish = std::getenv("CULPRIT_STEPS");
  const long limit = wish != nullptr ? std::atol(wish) : 20000;
  const auto splicing = make_walker();
  const auto fresh = make_walker();
  struct sigaction action {};
  struct sigaction before {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &before);
  for (int i = 0; i < kSteppedParts; ++i) {
    tally = Tally{};
    tally.splicing = splicing.get();
    tally.fresh = fresh.get();
    tally.limit = limit;
    step_through(parts[i], i + 3);
    INFO(parts[i].name << ": " << tally.steps << " steps, " << tally.reused_frames << " of " << tally.frames
                       << " frames reused, " << tally.replacing_stack
                       << " while replacing the stack, libunwind stale " << tally.stale_reference << "\n"
                       << differences());
    CHECK(tally.steps > 20);
    CHECK(tally.partial == 0);
    CHECK(tally.replacing_stack <= 120);
    CHECK(tally.stale_reference <= 20);
    CHECK(tally.spliced_differently == 0);
    CHECK(tally.unlike_reference == 0);
    CHECK(tally.reused_frames > 0);
  }
  sigaction(SIGTRAP, &before, nullptr);
}

}  // namespace

TEST_CASE("single steps without optimization are walked as libunwind does") {
  check_program(stepped_parts_plain());
}
TEST_CASE("single steps of optimized code are walked as libunwind does") {
  check_program(stepped_parts_optimized());
}
TEST_CASE("single steps of code with frame pointers are walked as libunwind does") {
  check_program(stepped_parts_framed());
}
TEST_CASE("single steps of vectorized code are walked as libunwind does") {
  check_program(stepped_parts_vectorized());
}
