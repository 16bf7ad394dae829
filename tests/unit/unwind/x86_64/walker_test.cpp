#include "fake_stack.hpp"

#include <catch2/catch.hpp>

namespace walker_test {

// Walks over hand-made stacks, one per class of bug that unwinders are known for.

using namespace culprit::unwind;
using namespace culprit::unwind::testing;

namespace {

using Pcs = std::vector<std::uint64_t>;

// Where the functions of the made-up program lie.
constexpr std::uint64_t kStart = 0x100;     // undefined return address
constexpr std::uint64_t kMain = 0x200;      // push rbp; mov rsp, rbp; ...; leave; ret
constexpr std::uint64_t kMiddle = 0x300;    // sub 24, rsp
constexpr std::uint64_t kLeaf = 0x400;      // nothing saved
constexpr std::uint64_t kTail = 0x440;      // right behind the noreturn call that ends kNoReturn
constexpr std::uint64_t kNoReturn = 0x420;  // sub 40, rsp; call abort
constexpr std::uint64_t kTrampoline = 0x500;
constexpr std::uint64_t kRealigned = 0x600;
constexpr std::uint64_t kUndescribed = 0x700;
constexpr std::uint64_t kStub = 0x800;
constexpr std::uint64_t kResolver = 0x900;  // CFA from rbx
constexpr std::uint64_t kStrange = 0xa00;   // only the row can say: rbp = CFA - 16, CFA from r11 before that
constexpr std::uint64_t kSize = 0x20;

void add_functions(FakeModule& module) {
  const Bytes framed = Cfi{}
                           .advance(1)
                           .def_cfa_offset(16)
                           .offset(6, 2)
                           .advance(3)
                           .def_cfa_register(6)
                           .advance(24)
                           .def_cfa(7, 8)
                           .bytes;
  module.add(kStart, kSize, Cfi{}.undefined(16).bytes);
  module.add(kMain, kSize, framed);
  module.add(kMiddle, kSize, Cfi{}.advance(4).def_cfa_offset(32).bytes);
  module.add(kLeaf, kSize, Cfi{}.bytes);
  module.add(kNoReturn, kSize, Cfi{}.advance(4).def_cfa_offset(48).bytes);
  module.add(kTail, kSize, Cfi{}.bytes);
  // The signal trampoline: everything lies in the ucontext above rsp, addressed by expressions.
  FakeModule::Common signal;
  signal.augmentation = "zRS";
  signal.initial = Cfi{}
                       .cfa_expression(breg(7, 160) + Bytes{0x06})
                       .expression(16, breg(7, 168))
                       .expression(6, breg(7, 120))
                       .expression(3, breg(7, 128))
                       .expression(12, breg(7, 64))
                       .expression(11, breg(7, 56))
                       .bytes;
  module.add(kTrampoline, kSize, {}, signal);
  module.add(kRealigned, kSize,
             Cfi{}
                 .advance(4)
                 .def_cfa(10, 0)
                 .advance(8)
                 .cfa_expression(breg(6, -8) + Bytes{0x06})
                 .expression(6, breg(6, 0))
                 .bytes);
  module.add(
      kStub, kSize,
      Cfi{}.cfa_expression(breg(7, 8) + breg(16, 0) + Bytes{0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}).bytes);
  module.add(kResolver, kSize, Cfi{}.def_cfa(3, 24).offset(3, 2).bytes);
  module.add(kStrange, kSize, Cfi{}.def_cfa(11, 0).u8(0x14).uleb(6).uleb(2).bytes);
}

struct Fixture {
  FakeModule module;
  FakeStack stack;
  std::unique_ptr<Walker> walker;

  Fixture() {
    add_functions(module);
    module.finish();
    walker = stack.walker(module);
  }

  [[nodiscard]] std::uint64_t pc(std::uint64_t offset) const { return module.at(offset); }

  // kStart called main, which has a frame pointer; its frame's saved rbp lies at word 4000, and it is about
  // to call: the return address goes to word `at`.
  void start_and_main(std::uint64_t at) {
    stack[4001] = pc(kStart + 0x10);
    stack[4000] = 0;
    stack[at] = pc(kMain + 0x10);
  }
  [[nodiscard]] std::uint64_t main_bp() const { return stack.at(4000); }

  Pcs walk_root(const Registers& start) {
    const Walk walk = walker->walk(start);
    CHECK(walk.end == WalkEnd::root);
    return pcs(walk);
  }
};

}  // namespace

TEST_CASE("leaf: the return address is at the stack pointer") {
  Fixture f;
  f.start_and_main(3900);
  const Walk walk = f.walker->walk({.pc = f.pc(kLeaf + 5), .sp = f.stack.at(3900), .bp = f.main_bp()});
  CHECK(walk.end == WalkEnd::root);
  REQUIRE(pcs(walk) == Pcs{f.pc(kLeaf + 5), f.pc(kMain + 0x10), f.pc(kStart + 0x10)});
  CHECK(walk.fresh == 3);
  CHECK(walk.frames[0].origin == FrameOrigin::leaf);
  CHECK(walk.frames[0].offset == kLeaf + 5);
  CHECK(walk.frames[0].cfa == f.stack.at(3901));
  CHECK(walk.frames[0].module == 7);
  CHECK(walk.frames[1].origin == FrameOrigin::call);
  CHECK(walk.frames[1].offset == kMain + 0xf);
  CHECK(walk.frames[1].cfa == f.stack.at(4002));
}

TEST_CASE("prologue: before and after the frame pointer is pushed") {
  Fixture f;
  f.stack[4001] = f.pc(kStart + 0x10);
  f.stack[4000] = 0x1234;
  const Pcs at_entry{f.pc(kMain), f.pc(kStart + 0x10)};
  CHECK(f.walk_root({.pc = f.pc(kMain), .sp = f.stack.at(4001), .bp = 0x1234}) == at_entry);
  const Pcs pushed{f.pc(kMain + 1), f.pc(kStart + 0x10)};
  CHECK(f.walk_root({.pc = f.pc(kMain + 1), .sp = f.stack.at(4000), .bp = 0x1234}) == pushed);
  const Pcs moved{f.pc(kMain + 4), f.pc(kStart + 0x10)};
  CHECK(f.walk_root({.pc = f.pc(kMain + 4), .sp = f.stack.at(4000), .bp = f.stack.at(4000)}) == moved);
}

TEST_CASE("epilogue: the frame pointer is already popped, its slot in the red zone") {
  Fixture f;
  f.start_and_main(3000);
  f.stack[3001] = f.main_bp();
  f.stack[3002] = f.pc(kMain + 0x10);
  // In a second activation of main, at its ret: rbp still counts as saved at CFA - 16, just below sp.
  CHECK(f.walk_root({.pc = f.pc(kMain + 0x1c), .sp = f.stack.at(3002), .bp = f.main_bp()}) ==
        Pcs{f.pc(kMain + 0x1c), f.pc(kMain + 0x10), f.pc(kStart + 0x10)});
}

TEST_CASE("epilogue: at the very bottom of the stack nothing below it is read") {
  Fixture f;
  f.stack[4000] = 0;
  f.stack[4001] = f.pc(kStart + 0x10);
  f.stack[0] = f.pc(kMain + 0x10);
  CHECK(f.walk_root({.pc = f.pc(kMain + 0x1c), .sp = f.stack.at(0), .bp = f.main_bp()}) ==
        Pcs{f.pc(kMain + 0x1c), f.pc(kMain + 0x10), f.pc(kStart + 0x10)});
}

TEST_CASE("noreturn tail: a return address belongs to the instruction before it") {
  Fixture f;
  f.start_and_main(3905);
  f.stack[3899] = f.pc(kTail);  // kNoReturn's call was its last instruction
  const Pcs expected{f.pc(kLeaf), f.pc(kTail), f.pc(kMain + 0x10), f.pc(kStart + 0x10)};
  const Walk walk = f.walker->walk({.pc = f.pc(kLeaf), .sp = f.stack.at(3899), .bp = f.main_bp()});
  CHECK(pcs(walk) == expected);
  CHECK(walk.frames[1].offset == kTail - 1);
}

TEST_CASE("plt_stub: before and after its push") {
  Fixture f;
  f.start_and_main(3900);
  const Pcs callers{f.pc(kMain + 0x10), f.pc(kStart + 0x10)};
  CHECK(f.walk_root({.pc = f.pc(kStub), .sp = f.stack.at(3900), .bp = f.main_bp()}) ==
        Pcs{f.pc(kStub), callers[0], callers[1]});
  CHECK(f.walk_root({.pc = f.pc(kStub + 11), .sp = f.stack.at(3899), .bp = f.main_bp()}) ==
        Pcs{f.pc(kStub + 11), callers[0], callers[1]});
}

TEST_CASE("plt_stub without call-frame information is known by its bytes") {
  Fixture f;
  f.start_and_main(3900);
  f.module.code(kUndescribed,
                {0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 5, 6, 7, 8,    0x90, 0x90, 0x90, 0x90,  // first entry
                 0xff, 0x25, 1, 0, 0, 0, 0x68, 0,    0, 0, 0, 0xe9, 0,    0,    0,    0});
  const auto steps_out = [&](std::uint64_t offset, std::uint64_t pushed) {
    const Walk walk = f.walker->walk(
        {.pc = f.pc(kUndescribed + offset), .sp = f.stack.at(3900 - pushed), .bp = f.main_bp()});
    CHECK(walk.end == WalkEnd::root);
    REQUIRE(walk.depth == 3);
    CHECK(walk.frames[0].bridged);
    CHECK(walk.frames[1].pc == f.pc(kMain + 0x10));
    CHECK_FALSE(walk.frames[1].bridged);
  };
  steps_out(16, 0);
  steps_out(22, 0);
  steps_out(27, 1);
  steps_out(0, 1);
  steps_out(6, 2);
}

TEST_CASE("signal_frame: the interrupted pc is exact and registers come from the context") {
  Fixture f;
  f.start_and_main(3900);
  // The handler's frame: kLeaf called by the trampoline, whose context lies above.
  const std::uint64_t sp = f.stack.at(3000);
  f.stack[2999] = f.pc(kTrampoline + 1);
  f.stack.word(sp + 160) = f.stack.at(3900);
  f.stack.word(sp + 168) = f.pc(kMiddle);  // interrupted at its first instruction
  f.stack.word(sp + 120) = f.main_bp();
  f.stack.word(sp + 128) = 0;
  const Walk walk = f.walker->walk({.pc = f.pc(kLeaf), .sp = f.stack.at(2999), .bp = 0x77});
  CHECK(walk.end == WalkEnd::root);
  REQUIRE(pcs(walk) ==
          Pcs{f.pc(kLeaf), f.pc(kTrampoline + 1), f.pc(kMiddle), f.pc(kMain + 0x10), f.pc(kStart + 0x10)});
  CHECK(walk.frames[2].origin == FrameOrigin::interrupted);
  CHECK(walk.frames[2].offset == kMiddle);
  CHECK(walk.frames[3].origin == FrameOrigin::call);
}

TEST_CASE("alt_stack: from memory outside the thread's stack back into it") {
  Fixture f;
  f.start_and_main(3900);
  std::vector<std::uint64_t> other(1024, 0);
  const auto sp = reinterpret_cast<std::uint64_t>(other.data() + 100);
  other[99] = f.pc(kTrampoline + 1);
  other[100 + 160 / 8] = f.stack.at(3900);
  other[100 + 168 / 8] = f.pc(kLeaf);
  other[100 + 120 / 8] = f.main_bp();
  const Registers start{.pc = f.pc(kLeaf + 2), .sp = sp - 8};
  const Pcs expected{f.pc(kLeaf + 2), f.pc(kTrampoline + 1), f.pc(kLeaf), f.pc(kMain + 0x10),
                     f.pc(kStart + 0x10)};
  CHECK(f.walk_root(start) == expected);
  CHECK(f.walker->walk(start).fresh == 0);  // spliced, with its slots verified once more
  other[99] = f.pc(kMiddle + 1);
  CHECK(f.walker->walk(start).fresh > 0);
}

TEST_CASE("realigned: the CFA from r10, then loaded through rbp") {
  Fixture f;
  f.start_and_main(3900);
  Registers start{.pc = f.pc(kRealigned + 5), .sp = f.stack.at(3800), .bp = f.main_bp()};
  const Pcs callers{f.pc(kMain + 0x10), f.pc(kStart + 0x10)};
  ucontext_t context{};
  context.uc_mcontext.gregs[REG_R10] = static_cast<greg_t>(f.stack.at(3901));
  start.context = &context;
  CHECK(f.walk_root(start) == Pcs{start.pc, callers[0], callers[1]});
  f.stack[3700] = f.main_bp();
  f.stack[3699] = f.stack.at(3901);
  CHECK(f.walk_root({.pc = f.pc(kRealigned + 13), .sp = f.stack.at(3600), .bp = f.stack.at(3700)}) ==
        Pcs{f.pc(kRealigned + 13), callers[0], callers[1]});
}

TEST_CASE("resolver: the CFA from rbx") {
  Fixture f;
  f.start_and_main(3902);
  f.stack[3901] = 0x55;
  CHECK(f.walk_root(
            {.pc = f.pc(kResolver + 5), .sp = f.stack.at(3500), .bp = f.main_bp(), .bx = f.stack.at(3900)}) ==
        Pcs{f.pc(kResolver + 5), f.pc(kMain + 0x10), f.pc(kStart + 0x10)});
}

TEST_CASE("strange rules are interpreted, also through a signal frame") {
  Fixture f;
  // main was called with its frame at word 4000; kStrange says rbp = CFA - 16.
  f.start_and_main(4002 - 3);
  f.stack[4001] = f.pc(kStart + 0x10);
  Registers start{.pc = f.pc(kStrange + 1), .sp = f.stack.at(3500), .bp = 0x99};
  ucontext_t context{};
  context.uc_mcontext.gregs[REG_R11] = static_cast<greg_t>(f.stack.at(4000));
  start.context = &context;
  // CFA = r11 = word 4000, so the return address is word 3999, and main's rbp word 3998.
  f.stack[3998] = 0;
  const std::uint64_t middle_return = 3999;
  f.stack[middle_return] = f.pc(kMiddle + 8);
  f.stack[4003] = f.pc(kStart + 0x10);
  CHECK(f.walk_root(start) == Pcs{start.pc, f.pc(kMiddle + 8), f.pc(kStart + 0x10)});
  // Interrupted there: r11 is in the signal's context only.
  const std::uint64_t sp = f.stack.at(3000);
  f.stack[2999] = f.pc(kTrampoline + 1);
  f.stack.word(sp + 160) = start.sp;
  f.stack.word(sp + 168) = start.pc;
  f.stack.word(sp + 56) = f.stack.at(4000);
  CHECK(f.walk_root({.pc = f.pc(kLeaf), .sp = f.stack.at(2999)}) ==
        Pcs{f.pc(kLeaf), f.pc(kTrampoline + 1), start.pc, f.pc(kMiddle + 8), f.pc(kStart + 0x10)});
  // In a call frame r11 is gone.
  f.stack[3499] = f.pc(kStrange + 2);
  const Walk walk = f.walker->walk({.pc = f.pc(kLeaf), .sp = f.stack.at(3499)});
  CHECK(walk.end == WalkEnd::partial);
  CHECK(walk.depth == 2);
}

TEST_CASE("no_cfi: bridged along the frame-pointer chain") {
  Fixture f;
  f.start_and_main(3900);
  f.module.code(kMain + 0x10 - 5, {0xe8, 0, 0, 0, 0});  // main's call
  f.stack[3899] = f.main_bp();
  const Registers start{.pc = f.pc(kUndescribed + 9), .sp = f.stack.at(3850), .bp = f.stack.at(3899)};
  const Walk walk = f.walker->walk(start);
  CHECK(walk.end == WalkEnd::root);
  REQUIRE(pcs(walk) == Pcs{start.pc, f.pc(kMain + 0x10), f.pc(kStart + 0x10)});
  CHECK(walk.frames[0].bridged);
  CHECK_FALSE(walk.frames[1].bridged);
}

TEST_CASE("no_cfi: an implausible chain is not followed") {
  Fixture f;
  f.start_and_main(3900);
  f.module.code(kMain + 0x10 - 5, {0xe8, 0, 0, 0, 0});
  f.stack[3899] = f.main_bp();
  const auto partial_depth = [&](std::uint64_t bp, std::uint64_t sp) {
    const Walk walk = f.walker->walk({.pc = f.pc(kUndescribed + 9), .sp = sp, .bp = bp});
    CHECK(walk.end == WalkEnd::partial);
    return walk.depth;
  };
  CHECK(partial_depth(f.stack.at(3899), f.stack.at(3901)) == 1);  // below the stack pointer
  CHECK(partial_depth(f.stack.at(3899) + 1, f.stack.at(3850)) == 1);
  CHECK(partial_depth(f.stack.top(), f.stack.at(3850)) == 1);
  CHECK(partial_depth(f.stack.at(3890), f.stack.at(3850)) == 1);  // its words are no frame
  CHECK(partial_depth(~std::uint64_t{0} - 7, f.stack.at(3850)) == 1);
  f.stack[3900] = f.pc(kMain + 0x14);  // not behind a call instruction
  CHECK(partial_depth(f.stack.at(3899), f.stack.at(3850)) == 1);
}

TEST_CASE("unknown code is bridged or partial, and its frame names no module") {
  Fixture f;
  f.start_and_main(3900);
  f.module.code(kMain + 0x10 - 2, {0xff, 0xd0});  // call *%rax
  f.stack[3899] = f.main_bp();
  const Walk walk = f.walker->walk({.pc = 0x1000, .sp = f.stack.at(3850), .bp = f.stack.at(3899)});
  CHECK(walk.end == WalkEnd::root);
  CHECK(walk.frames[0].module == Frame::kNoModule);
  CHECK(walk.frames[0].offset == 0x1000);
  CHECK(walk.frames[0].bridged);
  CHECK(walk.frames[1].module == 7);
}

TEST_CASE("root: undefined return address, or zero") {
  Fixture f;
  CHECK(f.walk_root({.pc = f.pc(kStart), .sp = f.stack.at(4090)}) == Pcs{f.pc(kStart)});
  f.stack[4090] = 0;
  CHECK(f.walk_root({.pc = f.pc(kLeaf), .sp = f.stack.at(4090)}) == Pcs{f.pc(kLeaf)});
}

TEST_CASE("root: a return address at a function's first byte that no call precedes") {
  Fixture f;
  f.stack[4000] = f.pc(kLeaf);  // makecontext does so; nothing describes the byte before
  f.stack[4001] = 0x1234;
  CHECK(f.walk_root({.pc = f.pc(kLeaf + 5), .sp = f.stack.at(4000)}) == Pcs{f.pc(kLeaf + 5), f.pc(kLeaf)});
  // Executing the byte before it is another matter.
  CHECK(f.walker->walk({.pc = f.pc(kLeaf - 1), .sp = f.stack.at(4000)}).end == WalkEnd::partial);
}

TEST_CASE("values out of bounds make the walk partial") {
  Fixture f;
  f.start_and_main(3900);
  const auto partial = [&](const Registers& start) { return f.walker->walk(start).end == WalkEnd::partial; };
  CHECK(partial({.pc = f.pc(kMain + 0x10), .sp = f.stack.at(3900), .bp = 0}));
  CHECK(partial({.pc = f.pc(kMain + 0x10), .sp = f.stack.at(3900), .bp = ~std::uint64_t{0}}));
  CHECK(partial({.pc = f.pc(kMain + 0x10), .sp = f.stack.at(3900), .bp = ~std::uint64_t{0} - 16}));
  CHECK(partial({.pc = f.pc(kMain + 0x10), .sp = f.stack.at(3900), .bp = f.stack.at(3000)}));  // downwards
  CHECK(partial({.pc = f.pc(kMain + 0x10), .sp = f.stack.at(3900), .bp = f.stack.top() - 8}));
  CHECK(partial({.pc = f.pc(kLeaf), .sp = f.stack.top()}));
  CHECK(partial({.pc = f.pc(kLeaf), .sp = 0}));
  CHECK(partial({.pc = f.pc(kLeaf), .sp = 8}));
  CHECK(partial({.pc = f.pc(kLeaf), .sp = ~std::uint64_t{0} - 7}));
  CHECK(partial({.pc = 0, .sp = f.stack.at(3900)}));
  CHECK(partial({.pc = ~std::uint64_t{0}, .sp = f.stack.at(3900)}));
  CHECK(partial({.pc = f.pc(kRealigned + 13), .sp = f.stack.at(3600), .bp = 24}));
  CHECK(partial({.pc = f.pc(kTrampoline + 1), .sp = f.stack.top() - 64}));
}

namespace {

/// A stack on which one function called itself up to `words` - 1 times, and walks that begin on it.
struct Recursion {
  explicit Recursion(std::uint64_t words) : stack(words), depth(words) {
    for (std::uint64_t i = 0; i + 1 < words; ++i) stack[i] = f.pc(kLeaf + 2);
    stack[words - 1] = 0;
    walker = stack.walker(f.module);
  }
  /// A walk of `frames` frames, of which the innermost is elsewhere in the function.
  Walk walk(std::uint64_t frames, std::uint64_t at = 4) {
    return walker->walk({.pc = f.pc(kLeaf + at), .sp = stack.at(depth - frames)});
  }

  Fixture f;
  FakeStack stack;
  std::uint64_t depth;
  std::unique_ptr<Walker> walker;
};

/// Frames that are shown of a path deeper than Walker::kMaxDepth: the innermost is none of the recursion's.
constexpr std::size_t kShown = Steps::kOutermost + Steps::kReach + 1;

}  // namespace

TEST_CASE("of a deep recursion the outermost and the innermost frames are kept") {
  for (const std::size_t frames :
       {1025U, 1279U, 1280U, 1281U, 1535U, 1536U, 1537U, 2047U, 2048U, 2049U, 100'000U, 262'144U}) {
    CAPTURE(frames);
    Recursion recursion(frames);
    const Walk walk = recursion.walk(frames);
    CHECK(walk.end == WalkEnd::root);
    CHECK(pcs(walk).size() == kShown);
    CHECK(walk.gap.frames == frames - kShown);
    CHECK(walk.depth - walk.gap.end == Steps::kOutermost);
    CHECK(walk.gap.end > walk.gap.begin);
    CHECK(walk.frames[walk.depth - 1].sp == recursion.stack.at(frames - 1));
    CHECK(walk.frames[walk.gap.end].sp == recursion.stack.at(frames - Steps::kOutermost));
    CHECK(walk.frames[walk.gap.begin - 1].sp == recursion.stack.at(walk.gap.begin - 1));
    CHECK(walk.fresh == walk.depth);
  }
}

TEST_CASE("a path of as many frames as are kept has no gap") {
  Recursion recursion(Walker::kMaxDepth);
  const Walk walk = recursion.walk(Walker::kMaxDepth);
  CHECK(walk.end == WalkEnd::root);
  CHECK(walk.depth == Walker::kMaxDepth);
  CHECK(walk.gap.begin == walk.gap.end);
  CHECK(walk.gap.frames == 0);
}

TEST_CASE("endless recursion ends as too deep") {
  const std::size_t frames = Walker::kMaxSteps + 1;
  Recursion recursion(frames);
  const Walk walk = recursion.walk(frames);
  CHECK(walk.end == WalkEnd::too_deep);
  CHECK(pcs(walk).size() < Walker::kMaxDepth);
  const Walk again = recursion.walk(frames);
  CHECK(again.end == WalkEnd::too_deep);
  CHECK(again.fresh == again.depth);  // a path that did not reach the root is never reused
}

TEST_CASE("in a deep recursion only the innermost frames are walked again") {
  Recursion recursion(100'000);
  recursion.walk(99'990);
  CHECK(recursion.walk(99'990, 3).fresh == 1);
  const Walk more = recursion.walk(99'995);
  CHECK(more.fresh == more.gap.end);  // all the innermost frames have another place now
  CHECK(recursion.walk(99'995, 3).fresh == 1);
  // Returned from more of them than are kept: as far as the next milestone.
  const Walk less = recursion.walk(90'000);
  CHECK(less.end == WalkEnd::root);
  CHECK(less.fresh == less.gap.end);
  CHECK(less.gap.frames == 90'000 - kShown);
  CHECK(recursion.walk(90'000, 3).fresh == 1);
}

TEST_CASE("deeper than a walk is long, as long as it grows by less") {
  const std::size_t frames = 2 * Walker::kMaxSteps;
  Recursion recursion(frames);
  recursion.walk(Walker::kMaxSteps - 1);
  const Walk walk = recursion.walk(frames - 10'000);
  CHECK(walk.end == WalkEnd::root);
  CHECK(walk.gap.frames == frames - 10'000 - kShown);
  CHECK(recursion.walk(frames - 10'000, 3).fresh == 1);
}

TEST_CASE("user values survive on reused frames, and only there") {
  Fixture f;
  f.start_and_main(3900);
  const Registers in_leaf{.pc = f.pc(kLeaf + 5), .sp = f.stack.at(3900), .bp = f.main_bp()};
  f.walker->walk(in_leaf);
  for (std::size_t i = 0; i < 3; ++i) f.walker->mutable_frames()[i].user = static_cast<std::uint32_t>(10 + i);
  const Registers elsewhere{.pc = f.pc(kLeaf + 6), .sp = f.stack.at(3900), .bp = f.main_bp()};
  const Walk walk = f.walker->walk(elsewhere);
  CHECK(walk.fresh == 1);
  CHECK(walk.end == WalkEnd::root);
  CHECK(walk.frames[0].user == 0);
  CHECK(walk.frames[1].user == 11);
  CHECK(walk.frames[2].user == 12);
  CHECK(f.walker->walk(elsewhere).fresh == 0);
  f.walker->invalidate();
  CHECK(f.walker->walk(elsewhere).fresh == 3);
}

TEST_CASE("invalidated rules are compiled anew") {
  Fixture f;
  f.start_and_main(3900);
  const Registers start{.pc = f.pc(kUndescribed + 1), .sp = f.stack.at(3900), .bp = f.main_bp()};
  CHECK(f.walker->walk(start).end == WalkEnd::partial);
  // Another module is mapped in place of the first, with information about that code.
  FakeModule other;
  other.add(kStart, kSize, Cfi{}.undefined(16).bytes);
  other.finish();
  const std::uint64_t begin = other.tables().first;
  std::copy_n(other.bytes() + begin, 0x2000, f.module.bytes() + begin);
  f.walker->invalidate();
  const Walk walk = f.walker->walk({.pc = f.pc(kMain + 0x10), .sp = f.stack.at(3900), .bp = f.main_bp()});
  CHECK(walk.end == WalkEnd::partial);  // main is no longer described
  CHECK(walk.depth == 1);
  CHECK(f.walker->walk({.pc = f.pc(kStart), .sp = f.stack.at(3900)}).end == WalkEnd::root);
}

}  // namespace walker_test
