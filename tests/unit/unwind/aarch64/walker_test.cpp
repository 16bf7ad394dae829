#include "unwind/walker.hpp"

#include "fake_module.hpp"
#include "fake_stack.hpp"
#include "modules.hpp"

#include <csignal>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

namespace walker_test {

// Walks on aarch64: by hand-made call-frame information, by none, and of this very program.

using namespace culprit::unwind;
using namespace culprit::unwind::testing;

namespace {

constexpr unsigned kFrame = 29, kLink = 30;
constexpr std::uint64_t kSize = 0x40;
constexpr std::uint64_t kStart = 0x100;    // the thread's first function
constexpr std::uint64_t kMain = 0x200;     // stp x29, x30, [sp, -32]!
constexpr std::uint64_t kMiddle = 0x300;   // the same with a frame of 64 bytes, found by x29
constexpr std::uint64_t kLeaf = 0x400;     // saves nothing
constexpr std::uint64_t kFramed = 0x500;   // sub sp, sp, 48; saves nothing
constexpr std::uint64_t kSigned = 0x600;   // paciasp; stp x29, x30, [sp, -16]!
constexpr std::uint64_t kStrange = 0x700;  // only the row can say: the return address in x9
constexpr std::uint64_t kSaving = 0x780;   // saves x19, in a frame of 48 bytes
constexpr std::uint64_t kByOther = 0x800;  // the CFA from x19, from its second instruction on
constexpr std::uint64_t kFalse = 0x900;    // described as a leaf, which it is not
constexpr std::uint64_t kUndescribed = 0x1000, kReturn = 0x2000;

constexpr std::uint64_t kSignature = std::uint64_t{0x5a} << 48;

using Pcs = std::vector<std::uint64_t>;

Cfi record(std::uint64_t words) {
  return Cfi{}.advance(1).def_cfa_offset(words * 8).offset(kFrame, words).offset(kLink, words - 1);
}

class Fixture {
 public:
  Fixture() {
    add(kStart, Cfi{}.undefined(kLink));
    add(kMain, record(4));
    add(kMiddle, record(8).def_cfa_register(kFrame));
    add(kLeaf, Cfi{});
    add(kFramed, Cfi{}.advance(1).def_cfa_offset(48));
    add(kSigned, Cfi{}.advance(1).u8(0x2d).advance(1).def_cfa_offset(16).offset(kFrame, 2).offset(kLink, 1));
    add(kStrange, Cfi{}.u8(0x09).uleb(kLink).uleb(9));
    add(kSaving, record(6).offset(19, 4));
    add(kByOther, Cfi{}.advance(1).def_cfa(19, 0).offset(kFrame, 2).offset(kLink, 1));
    add(kFalse, Cfi{});
    module.finish();
    code(kReturn, {0xd2801168, 0xd4000001});  // mov x8, #139; svc #0
    walker = stack.walker(module);
  }

  /// kStart called main, which called what returns to pc(kMain + 0x10) and has its stack from `word` on.
  void main_from(std::uint64_t word) {
    stack[word] = 0;
    stack[word + 1] = pc(kStart + 0x10);
  }

  void code(std::uint64_t at, const std::vector<std::uint32_t>& words) {
    std::memcpy(module.bytes() + at, words.data(), words.size() * sizeof words[0]);
  }
  [[nodiscard]] std::uint64_t pc(std::uint64_t offset) const { return module.at(offset); }
  Pcs walk_root(const Registers& start) {
    const Walk walk = walker->walk(start);
    CHECK(walk.end == WalkEnd::root);
    return pcs(walk);
  }
  [[nodiscard]] Pcs with_callers(std::uint64_t first) const {
    return {first, pc(kMain + 0x10), pc(kStart + 0x10)};
  }

  FakeModule module;
  FakeStack stack;
  std::unique_ptr<Walker> walker;

 private:
  void add(std::uint64_t at, const Cfi& program) {
    module.add(at, kSize, program.bytes, FakeModule::aarch64());
  }
};

}  // namespace

TEST_CASE("leaf: the caller by the link register") {
  Fixture f;
  f.main_from(3900);
  const std::uint64_t link = f.pc(kMain + 0x10);
  CHECK(f.walk_root({.pc = f.pc(kLeaf + 8), .sp = f.stack.at(3900), .bx = link}) ==
        f.with_callers(f.pc(kLeaf + 8)));
  CHECK(f.walk_root({.pc = f.pc(kFramed + 8), .sp = f.stack.at(3894), .bx = link}) ==
        f.with_callers(f.pc(kFramed + 8)));
  CHECK(f.walk_root({.pc = f.pc(kMain), .sp = f.stack.at(3902), .bx = f.pc(kStart + 0x10)}) ==
        Pcs{f.pc(kMain), f.pc(kStart + 0x10)});
}

TEST_CASE("leaf: a frame that made a call is none") {
  Fixture f;
  f.main_from(3900);
  f.stack[3893] = f.pc(kLeaf + 8);  // as a return address
  f.stack[3892] = 0;
  const Walk walk = f.walker->walk({.pc = f.pc(kMain + 8), .sp = f.stack.at(3892), .bx = f.pc(kMain + 0x10)});
  CHECK(walk.end == WalkEnd::partial);
  CHECK(pcs(walk) == Pcs{f.pc(kMain + 8), f.pc(kLeaf + 8)});
}

TEST_CASE("leaf: a frame that made a call and is described as a leaf is followed to its return") {
  Fixture f;
  f.main_from(3900);
  f.code(kMain + 0x10 - 4, {0x94000000});
  f.code(kFalse, {0xa9bf7bfd,    // stp x29, x30, [sp, #-16]!
                  0xa9bf53f3,    // stp x19, x20, [sp, #-16]!
                  0x910003fd,    // mov x29, sp
                  0xcb2963ff,    // sub sp, sp, x9
                  0xd63f0100,    // blr x8
                  0x910003bf,    // mov sp, x29
                  0xf900027f,    // str xzr, [x19]
                  0xa8c153f3,    // ldp x19, x20, [sp], #16
                  0xa8c17bfd,    // ldp x29, x30, [sp], #16
                  0xd65f03c0});  // ret
  f.stack[3898] = 0x99;
  f.stack[3899] = f.pc(kMain + 0x10);
  f.stack[3886] = f.stack.at(3896);  // of main's record
  f.stack[3887] = f.pc(kFalse + 20);
  const Registers start{.pc = f.pc(kMain + 8), .sp = f.stack.at(3886)};
  const Pcs found = f.walk_root(start);
  REQUIRE(found.size() == 4);
  CHECK(found[1] == f.pc(kFalse + 20));
  CHECK(found[2] == f.pc(kMain + 0x10));
}

TEST_CASE("frame: the CFA from x29") {
  Fixture f;
  f.main_from(3900);
  f.stack[3850] = f.stack.at(3900);
  f.stack[3851] = f.pc(kMain + 0x10);
  // main's own frame begins where kMiddle's ends.
  f.main_from(3858);
  CHECK(f.walk_root({.pc = f.pc(kMiddle + 12), .sp = f.stack.at(3800), .bp = f.stack.at(3850)}) ==
        f.with_callers(f.pc(kMiddle + 12)));
}

TEST_CASE("signed return addresses lose their signature, in the register and on the stack") {
  Fixture f;
  f.main_from(3900);
  const std::uint64_t link = f.pc(kMain + 0x10) | kSignature;
  CHECK(f.walk_root({.pc = f.pc(kSigned + 4), .sp = f.stack.at(3900), .bx = link}) ==
        f.with_callers(f.pc(kSigned + 4)));
  f.stack[3898] = 0;
  f.stack[3899] = link;
  const Registers start{.pc = f.pc(kSigned + 12), .sp = f.stack.at(3898)};
  CHECK(f.walk_root(start) == f.with_callers(f.pc(kSigned + 12)));
  CHECK(f.walker->walk(start).fresh == 0);  // spliced: what the slot holds is compared with the signature
  f.stack[3899] = f.pc(kSigned + 0x10) | kSignature;
  CHECK(f.walker->walk(start).fresh > 0);
}

TEST_CASE("splice: from a leaf to its caller's frames") {
  Fixture f;
  f.main_from(3900);
  const std::uint64_t link = f.pc(kMain + 0x10);
  f.walk_root({.pc = f.pc(kLeaf + 8), .sp = f.stack.at(3900), .bx = link});
  const Walk walk = f.walker->walk({.pc = f.pc(kLeaf + 4), .sp = f.stack.at(3900), .bx = link});
  CHECK(walk.fresh == 1);
  CHECK(pcs(walk) == f.with_callers(f.pc(kLeaf + 4)));
  // Called from elsewhere meanwhile.
  CHECK(f.walk_root({.pc = f.pc(kLeaf + 8), .sp = f.stack.at(3900), .bx = f.pc(kMain + 0x20)}) ==
        Pcs{f.pc(kLeaf + 8), f.pc(kMain + 0x20), f.pc(kStart + 0x10)});
}

TEST_CASE("signal_frame: known by its code, and all registers by the context") {
  Fixture f;
  f.main_from(3900);
  const std::uint64_t sp = f.stack.at(3000);
  const auto interrupted = [&](unsigned number) -> std::uint64_t& {
    return f.stack.word(sp + 312 + 8 * std::uint64_t{number});
  };
  interrupted(kLink) = f.pc(kMain + 0x10);
  interrupted(31) = f.stack.at(3900);
  interrupted(32) = f.pc(kLeaf);
  // The handler: kMain's frame, which returns to the code.
  f.stack[2996] = 0;
  f.stack[2997] = f.pc(kReturn);
  const Registers start{.pc = f.pc(kMain + 8), .sp = f.stack.at(2996)};
  const Walk walk = f.walker->walk(start);
  CHECK(walk.end == WalkEnd::root);
  CHECK(pcs(walk) == Pcs{start.pc, f.pc(kReturn), f.pc(kLeaf), f.pc(kMain + 0x10), f.pc(kStart + 0x10)});
  CHECK(walk.frames[2].origin == FrameOrigin::interrupted);
  CHECK(f.walker->walk(start).fresh == 0);
  interrupted(kLink) = f.pc(kMain + 0x20);  // the leaf's caller was read there
  CHECK(f.walk_root(start)[3] == f.pc(kMain + 0x20));
  // A rule that needs more registers, behind the signal.
  interrupted(kLink) = 0;
  interrupted(9) = f.pc(kMain + 0x10);
  interrupted(32) = f.pc(kStrange + 4);
  CHECK(f.walk_root(start) ==
        Pcs{start.pc, f.pc(kReturn), f.pc(kStrange + 4), f.pc(kMain + 0x10), f.pc(kStart + 0x10)});
}

TEST_CASE("all registers: those that functions save are followed") {
  Fixture f;
  // kByOther called kSaving, which has overwritten x19.
  f.main_from(3900);
  f.stack[3898] = 0;
  f.stack[3899] = f.pc(kMain + 0x10);
  f.stack[3850] = 0;
  f.stack[3851] = f.pc(kByOther + 8);
  f.stack[3852] = f.stack.at(3900);
  ucontext_t context{};
  context.uc_mcontext.regs[19] = 0x77;
  const Registers start{.pc = f.pc(kSaving + 8), .sp = f.stack.at(3850), .context = &context};
  CHECK(f.walk_root(start) == Pcs{start.pc, f.pc(kByOther + 8), f.pc(kMain + 0x10), f.pc(kStart + 0x10)});
}

TEST_CASE("no_cfi: a PLT stub is followed to its jump") {
  Fixture f;
  f.main_from(3900);
  f.code(kMain + 0x10 - 4, {0x94000000});
  f.code(kUndescribed, {0x90000010, 0xf9400211, 0x91000210, 0xd61f0220});  // adrp, ldr, add, br x17
  for (std::uint64_t at = 0; at < 16; at += 4) {
    const Registers start{.pc = f.pc(kUndescribed + at), .sp = f.stack.at(3900), .bx = f.pc(kMain + 0x10)};
    CHECK(f.walk_root(start) == f.with_callers(start.pc));
    CHECK(f.walker->walk(start).bridged);
  }
}

TEST_CASE("no_cfi: the head of a PLT, before and after its push") {
  Fixture f;
  f.main_from(3900);
  f.code(kMain + 0x10 - 4, {0x94000000});
  // bti c; stp x16, x30, [sp, #-16]!; adrp; ldr; add; br x17
  f.code(kUndescribed, {0xd503245f, 0xa9bf7bf0, 0x90000010, 0xf9400211, 0x91000210, 0xd61f0220});
  f.stack[3899] = f.pc(kMain + 0x10);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Registers start{
        .pc = f.pc(kUndescribed + 4 * i), .sp = f.stack.at(i < 2 ? 3900 : 3898), .bx = f.pc(kMain + 0x10)};
    CHECK(f.walk_root(start) == f.with_callers(start.pc));
  }
}

TEST_CASE("no_cfi: a function is followed to its return, whatever it has done with its frame") {
  Fixture f;
  f.main_from(3900);
  f.code(kMain + 0x10 - 4, {0x94000000});
  f.code(kUndescribed, {0xa9be7bfd,    // stp x29, x30, [sp, #-32]!
                        0x910003fd,    // mov x29, sp
                        0xd10043ff,    // sub sp, sp, #16
                        0x94000000,    // bl
                        0x910003bf,    // mov sp, x29
                        0xa8c27bfd,    // ldp x29, x30, [sp], #32
                        0xd65f03c0});  // ret
  f.stack[3896] = 0x99;
  f.stack[3897] = f.pc(kMain + 0x10);
  const auto at = [&](std::uint64_t instruction, std::uint64_t sp, std::uint64_t frame, std::uint64_t link) {
    const Registers start{.pc = f.pc(kUndescribed + 4 * instruction), .sp = sp, .bp = frame, .bx = link};
    CHECK(f.walk_root(start) == f.with_callers(start.pc));
  };
  const std::uint64_t link = f.pc(kMain + 0x10), record = f.stack.at(3896);
  at(0, f.stack.at(3900), 0x99, link);
  at(1, record, 0x99, link);
  at(2, record, record, link);
  at(3, f.stack.at(3894), record, link);
  at(4, f.stack.at(3894), record, 0);
  at(5, record, record, 0);
  at(6, f.stack.at(3900), 0x99, link);
  // As a caller: the link register says nothing.
  f.stack[3890] = record;
  f.stack[3891] = f.pc(kUndescribed + 16);
  CHECK(f.walk_root({.pc = f.pc(kMain + 8), .sp = f.stack.at(3890)})[2] == f.pc(kMain + 0x10));
}

TEST_CASE("values out of bounds make the walk partial") {
  Fixture f;
  f.main_from(3900);
  const auto partial = [&](const Registers& start) { return f.walker->walk(start).end == WalkEnd::partial; };
  CHECK(partial({.pc = f.pc(kMain + 0x10), .sp = f.stack.top()}));
  CHECK(partial({.pc = f.pc(kMain + 0x10), .sp = 0}));
  CHECK(partial({.pc = f.pc(kMiddle + 0x10), .sp = f.stack.at(3900), .bp = ~std::uint64_t{0}}));
  CHECK(partial({.pc = f.pc(kMiddle + 0x10), .sp = f.stack.at(3900), .bp = f.stack.at(3000)}));
  CHECK(partial({.pc = f.pc(kReturn), .sp = f.stack.top() - 64}));
  CHECK(partial({.pc = f.pc(kUndescribed), .sp = f.stack.at(3900)}));  // udf
  CHECK(partial({.pc = f.pc(kUndescribed) + 2, .sp = f.stack.at(3900)}));
}

namespace {

Walker* signal_walker;
std::vector<std::uint64_t> from_handler, from_here;
WalkEnd end_in_handler;

[[gnu::noinline]] void walk_from_handler() {
  const Walk walk = signal_walker->walk(registers_here());
  from_handler = pcs(walk);
  end_in_handler = walk.end;
}
void on_signal(int /*signal*/) {
  walk_from_handler();
  asm volatile("");
}

}  // namespace

TEST_CASE("a walk from a signal's handler comes by the kernel's frame to the program") {
  const auto walker = make_walker();
  signal_walker = walker.get();
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, &before);
  from_here = pcs(walker->walk(registers_here()));
  raise(SIGUSR1);
  sigaction(SIGUSR1, &before, nullptr);
  CHECK(end_in_handler == WalkEnd::root);
  REQUIRE(from_here.size() > 3);
  REQUIRE(from_handler.size() > from_here.size() + 2);
  CHECK(std::vector(from_handler.end() - static_cast<std::ptrdiff_t>(from_here.size() - 1),
                    from_handler.end()) == std::vector(from_here.begin() + 1, from_here.end()));
}

}  // namespace walker_test
