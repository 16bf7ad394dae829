#include "step_tally.hpp"

#include "modules.hpp"
#include "stepper.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

namespace culprit::unwind::testing {

namespace {

constexpr const char* kNames[] = {"spliced differently",
                                  "partial",
                                  "wrong",
                                  "differing while a frame is replaced",
                                  "partial or wrong without call-frame information",
                                  "libunwind wrong"};

// Before libgcc jumps to a landing pad it overwrites the saved registers and the return address of its own
// frame, a few hundred instructions for each frame that it enters; then no rule is true. longjmp and
// setcontext say in their rules what they are going to restore: the frames to come, not those that are there.
// And glibc describes a coroutine's first frame as if it had a caller.
constexpr double kReplacing = 0.02;
constexpr std::uint8_t kFirstArgument = 5;  // rdi

/// The functions in question are shorter than that, and their descriptions in several pieces.
bool in_function_at(std::uint64_t pc, std::uint64_t function) {
  constexpr std::uint64_t kLongest = 512;
  return pc >= function && pc - function < kLongest;
}

/// Whether the code at the top of the stack is replacing frames.
bool replaces_frames(const ShadowStack::Truth& truth) {
  constexpr std::uint64_t kCoroutineEnd = 64;  // bytes
  constexpr std::size_t kNear = 4;  // libgcc copies registers by calls of memcpy, bound lazily at first
  static RowWorkspace workspace;
  CodeModule libgcc;
  CodeModule module;
  find_loaded_module(nullptr, reinterpret_cast<std::uint64_t>(&_Unwind_RaiseException), libgcc);
  for (std::size_t i = 0; i < kNear && i < truth.depth; ++i) {
    if (truth.pc[i] >= libgcc.begin && truth.pc[i] < libgcc.end) return true;
  }
  FrameDescription description;
  const std::uint64_t pc = truth.pc[0];
  if (in_function_at(pc, reinterpret_cast<std::uint64_t>(&setcontext)) ||
      in_function_at(pc, reinterpret_cast<std::uint64_t>(&swapcontext)) ||
      truth.pc[truth.depth - 1] - coroutine_end < kCoroutineEnd)
    return true;
  if (!find_loaded_module(nullptr, pc, module)) return false;
  // A new thread's first instructions: the same as its parent's behind the system call, undescribed.
  if (!find_description(module, pc, description)) return truth.whole && truth.depth == 1;
  if (!row_at(module, description, pc, workspace)) return false;
  const RegisterHow how = workspace.row.registers[description.return_register].how;
  return how != RegisterHow::at_offset || workspace.row.cfa_register == kFirstArgument;
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

bool is_true(const ShadowStack::Truth& truth, const std::uint64_t* pc, std::size_t depth) {
  if (truth.whole ? depth != truth.depth : depth < truth.depth) return false;
  return std::equal(truth.pc, truth.pc + truth.depth, pc);
}

std::size_t pcs_of(const Walk& walk, std::uint64_t (&pc)[Walker::kMaxDepth]) {
  for (std::size_t i = 0; i < walk.depth; ++i) pc[i] = walk.frames[i].pc;
  return walk.depth;
}

void print_address(std::uint64_t pc) {
  CodeModule module;
  Dl_info info{};
  const bool known = find_loaded_module(nullptr, pc, module);
  dladdr(reinterpret_cast<void*>(pc), &info);
  const char* name = info.dli_fname != nullptr ? info.dli_fname : known ? "[vdso]" : "?";
  dprintf(STDERR_FILENO, "%s+%#llx %s", name, static_cast<unsigned long long>(known ? pc - module.bias : pc),
          info.dli_sname != nullptr ? info.dli_sname : "");
}

}  // namespace

bool StepTally::classify(const Observation& seen, Class& what) const {
  static std::uint64_t ours[Walker::kMaxDepth];
  const std::size_t depth = pcs_of(seen.fresh, ours);
  const bool starting = !seen.truth.whole && std::strcmp(part_, kFirstPart) == 0;
  const bool whole = seen.fresh.end == WalkEnd::root || starting;
  const bool ours_true = is_true(seen.truth, ours, depth);
  const bool reference_true = is_true(seen.truth, seen.reference, seen.reference_depth);
  if (!same(seen.spliced, seen.fresh)) {
    what = splice;
  } else if (whole && ours_true) {
    what = reference;
    return !reference_true;
  } else if (std::strncmp(part_, kBare, sizeof kBare - 1) == 0) {
    what = bare;
  } else if (replaces_frames(seen.truth)) {
    what = replaced;
  } else {
    what = whole ? wrong : partial;
  }
  return true;
}

void StepTally::add(const Observation& seen) {
  ++steps_;
  frames_ += static_cast<long>(seen.fresh.depth);
  reused_ += static_cast<long>(seen.spliced.depth - seen.spliced.fresh);
  const Frame* end = seen.fresh.frames + seen.fresh.depth;
  if (std::any_of(seen.fresh.frames, end, [](const Frame& frame) { return frame.bridged; })) ++bridged_;
  Class what = splice;
  if (classify(seen, what)) note(what, seen);
}

void StepTally::keep(Stack& stack, const std::uint64_t* pc, std::size_t depth) {
  stack.depth = std::min(depth, kExample);
  std::copy_n(pc, stack.depth, stack.pc);
}

void StepTally::note(Class what, const Observation& seen) {
  if (counts_[what]++ == 0) {
    static std::uint64_t ours[Walker::kMaxDepth];
    Example& example = examples_[what];
    example.part = part_;
    keep(example.truth, seen.truth.pc, seen.truth.depth);
    keep(example.ours, ours, pcs_of(what == splice ? seen.spliced : seen.fresh, ours));
    keep(example.reference, seen.reference, seen.reference_depth);
  }
  const std::uint64_t pc = seen.truth.pc[0];
  Place* end = places_ + place_count_;
  Place* place = std::find_if(places_, end, [&](const Place& at) { return at.pc == pc && at.what == what; });
  if (place != end) {
    ++place->count;
  } else if (place_count_ < kPlaces) {
    places_[place_count_++] = {.pc = pc, .count = 1, .what = what};
  }
}

void StepTally::print_example(const Example& example) {
  dprintf(STDERR_FILENO, "  first in \"%s\":\n", example.part);
  const auto print = [](const char* whose, const Stack& stack, std::size_t i) {
    dprintf(STDERR_FILENO, "   %2zu %-10s", i, whose);
    if (i < stack.depth) print_address(stack.pc[i]);
    dprintf(STDERR_FILENO, "\n");
  };
  const std::size_t depth = std::max({example.truth.depth, example.ours.depth, example.reference.depth});
  for (std::size_t i = 0; i < depth; ++i) {
    const auto at = [i](const Stack& stack) { return i < stack.depth ? stack.pc[i] : 0; };
    print("truth", example.truth, i);
    if (at(example.ours) != at(example.truth)) print("ours", example.ours, i);
    if (at(example.reference) != at(example.truth)) print("libunwind", example.reference, i);
  }
}

void StepTally::print_places(Class what) const {
  constexpr int kMost = 400;
  int printed = 0;
  for (std::size_t i = 0; i < place_count_ && printed < kMost; ++i) {
    const Place& place = places_[i];
    if (place.what != what) continue;
    dprintf(STDERR_FILENO, "  %6ld at ", place.count);
    print_address(place.pc);
    dprintf(STDERR_FILENO, "\n");
    ++printed;
  }
}

bool StepTally::report() const {
  dprintf(STDERR_FILENO, "%ld instructions, %ld of %ld frames spliced, %ld walks bridged\n", steps_, reused_,
          frames_, bridged_);
  const bool few = static_cast<double>(counts_[replaced]) <= kReplacing * static_cast<double>(steps_);
  const bool good =
      counts_[splice] == 0 && counts_[partial] == 0 && counts_[wrong] == 0 && counts_[bare] == 0 && few;
  const bool details = !good || std::getenv("CULPRIT_STEP_DETAILS") != nullptr;
  for (unsigned i = 0; i < kClasses; ++i) {
    dprintf(STDERR_FILENO, "%7ld %s\n", counts_[i], kNames[i]);
    if (counts_[i] == 0 || !details) continue;
    print_example(examples_[i]);
    print_places(static_cast<Class>(i));
  }
  return good && steps_ > 0 && reused_ > 0;
}

}  // namespace culprit::unwind::testing
