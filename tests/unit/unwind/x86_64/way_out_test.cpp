#include "unwind/way_out.hpp"

#include "fake_stack.hpp"
#include "modules.hpp"
#include "unwind/byte_cursor.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/x86_64/instruction.hpp"

#include <cstdlib>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace way_out_test {

// Code without call-frame information, one case per class of it that programs have.

using namespace culprit::unwind;
using namespace culprit::unwind::testing;

namespace {

constexpr std::uint64_t kStart = 0x100;   // undefined return address
constexpr std::uint64_t kCaller = 0x200;  // sub 24, rsp; call
constexpr std::uint64_t kLeaf = 0x400;    // described, nothing saved
constexpr std::uint64_t kBare = 0x800;    // no information
constexpr std::uint64_t kSize = 0x20;

/// A described caller whose frame begins at word 4000, below which the bare function's frame lies.
struct Fixture {
  FakeModule module;
  FakeStack stack;
  std::unique_ptr<Walker> walker;

  Fixture() {
    module.add(kStart, kSize, Cfi{}.undefined(16).bytes);
    module.add(kCaller, kSize, Cfi{}.advance(4).def_cfa_offset(32).bytes);
    module.add(kLeaf, kSize, Cfi{}.bytes);
    module.finish();
    module.code(kCaller + 0x10 - 5, {0xe8, 0, 0, 0, 0});
    module.code(kBare + 0x10 - 5, {0xe8, 0, 0, 0, 0});
    stack[4000] = module.at(kCaller + 0x10);  // the bare function's return address
    stack[4004] = module.at(kStart + 0x10);
    walker = stack.walker(module);
  }

  /// Interrupted `offset` bytes into the bare function, with `words` on the stack above its return address.
  void comes_out(std::uint64_t offset, std::uint64_t words, std::uint64_t bp = 0x1234) {
    const std::uint64_t pc = module.at(kBare + offset);
    const Walk walk = walker->walk({.pc = pc, .sp = stack.at(4000 - words), .bp = bp});
    INFO("offset " << offset);
    CHECK(walk.end == WalkEnd::root);
    CHECK(walk.bridged);
    CHECK(pcs(walk) == std::vector{pc, module.at(kCaller + 0x10), module.at(kStart + 0x10)});
  }
};

Instruction decoded(const Bytes& bytes) {
  Bytes padded = bytes;
  padded.resize(bytes.size() + 16, 0x90);
  CodeBytes code(nullptr, reinterpret_cast<std::uint64_t>(padded.data()));
  return decode_instruction(code);
}

}  // namespace

TEST_CASE("init_without_fde: every instruction of _init and _fini") {
  Fixture f;
  f.stack[3999] = f.module.at(kBare + 0x30);  // what an earlier call left in the padding
  f.module.code(kBare, {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05, 0,    0,   0,
                        0,    0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3});
  for (const std::uint64_t before_push : {0, 4, 26}) f.comes_out(before_push, 0);
  for (const std::uint64_t inside : {8, 15, 18, 20, 22}) f.comes_out(inside, 1);
}

TEST_CASE("init_without_fde: as a caller") {
  Fixture f;
  f.module.code(kBare + 0x10, {0x48, 0x83, 0xc4, 0x08, 0xc3});
  f.stack[3998] = f.module.at(kBare + 0x10);
  const Walk walk = f.walker->walk({.pc = f.module.at(kLeaf + 3), .sp = f.stack.at(3998)});
  CHECK(walk.end == WalkEnd::root);
  REQUIRE(walk.depth == 4);
  CHECK_FALSE(walk.frames[0].bridged);
  CHECK(walk.frames[1].bridged);
  CHECK(walk.frames[2].pc == f.module.at(kCaller + 0x10));
}

TEST_CASE("libc_syscall_no_fde: the stub behind a system call") {
  Fixture f;
  f.module.code(kBare, {0x48, 0x85, 0xc0, 0x7c, 0x18, 0x74, 0x01, 0xc3});
  for (const std::uint64_t offset : {0, 3, 5, 7}) f.comes_out(offset, 0);
}

TEST_CASE("no_eh_frame_hdr: a module without any information is gone through") {
  Fixture f;
  // push rbx; sub 16, rsp; nop; add 16, rsp; pop rbx; ret
  f.module.code(kBare, {0x53, 0x48, 0x83, 0xec, 0x10, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3});
  f.comes_out(0, 0);
  f.comes_out(1, 1);
  f.comes_out(5, 3);
  f.comes_out(10, 1);
  f.comes_out(11, 0);
}

TEST_CASE("epilogue_bp_already_popped: the frame pointer is followed only where the code will use it") {
  Fixture f;
  // push rbp; mov rsp, rbp; sub 32, rsp; nop; leave; ret
  f.module.code(kBare, {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x90, 0xc9, 0xc3});
  f.stack[3999] = 0x1234;
  f.comes_out(0, 0);
  f.comes_out(1, 1);
  f.comes_out(8, 5, f.stack.at(3999));
  f.comes_out(9, 5, f.stack.at(3999));
  f.comes_out(10, 0);
}

TEST_CASE("a frame pointer that is pushed on the way is not read from the stack") {
  Fixture f;
  f.stack[3999] = 0xdead;  // stale
  f.module.code(kBare, {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3});
  WayOut way;
  StackBounds bounds{};
  bounds.set_thread(f.stack.at(0), f.stack.top());
  bounds.start();
  bounds.enter(f.stack.at(4000));
  REQUIRE(find_way_out({&f.module.module(), f.module.at(kBare), f.stack.at(4000), 0x77}, bounds, false, way));
  CHECK(way.return_slot == f.stack.at(4000));
  CHECK(way.bp_slot == 0);
  CHECK_FALSE(way.uses_bp);
}

TEST_CASE("eh_return: a return by pop and jump, and a tail call") {
  Fixture f;
  f.module.code(kBare, {0x59, 0xff, 0xe1});  // pop rcx; jmp *rcx
  f.comes_out(0, 0);
  f.module.code(kBare + 8, {0x48, 0x83, 0xc4, 0x08, 0xff, 0xe0});  // add 8, rsp; jmp *rax
  f.comes_out(8, 1);
}

TEST_CASE("a way that leads nowhere is not taken; the forward branches are tried then") {
  Fixture f;
  f.module.code(kBare, {0x74, 0x02, 0x0f, 0x0b, 0xc3});  // je +2; ud2; ret
  f.comes_out(0, 0);
  f.module.code(kBare + 8, {0xeb, 0xfe});  // jmp to itself
  CHECK(f.walker->walk({.pc = f.module.at(kBare + 8), .sp = f.stack.at(4000)}).end == WalkEnd::partial);
}

TEST_CASE("stack_scan: the nearest return address that leads on and whose call can have led here") {
  Fixture f;
  const auto call = [&](std::uint64_t end, std::uint64_t target) {
    const auto distance = static_cast<std::uint32_t>(target - end);
    f.module.code(end - 5, Cfi{}.u8(0xe8).u32(distance).bytes);
  };
  f.module.code(kBare + 8, {0xeb, 0xfe});       // jmp to itself: no way out
  call(kCaller + 0x10, kBare + 8);              // the true call
  call(kCaller + 0x18, kLeaf);                  // an earlier one, of something else
  f.stack[3994] = f.module.at(kCaller + 0x18);  // whose return address is still there
  f.stack[3998] = f.module.at(kCaller + 0x10);
  f.stack[4002] = f.module.at(kStart + 0x10);
  const std::uint64_t pc = f.module.at(kBare + 8);
  const auto walk = [&] { return f.walker->walk({.pc = pc, .sp = f.stack.at(3990)}); };
  CHECK(pcs(walk()) == std::vector{pc, f.module.at(kCaller + 0x10), f.module.at(kStart + 0x10)});
  CHECK(walk().bridged);
  CHECK(walk().end == WalkEnd::root);
  f.stack[4002] = 0xdead;  // now the one at 3998 leads nowhere, and the next at 4000 does
  CHECK(walk().frames[0].cfa == f.stack.at(4001));
  f.stack[4000] = 0xbad;
  CHECK(walk().end == WalkEnd::partial);
}

TEST_CASE("a bridged frame is spliced like any other, and the path knows of it") {
  Fixture f;
  f.module.code(kBare + 0x10, {0x48, 0x83, 0xc4, 0x08, 0xc3});
  f.stack[3998] = f.module.at(kBare + 0x10);
  const auto walk = [&](std::uint64_t pc) {
    return f.walker->walk({.pc = f.module.at(pc), .sp = f.stack.at(3998)});
  };
  CHECK(walk(kLeaf + 3).fresh == 4);
  const Walk again = walk(kLeaf + 5);
  CHECK(again.fresh == 1);
  CHECK(again.bridged);
  CHECK(f.walker->walk({.pc = f.module.at(kLeaf), .sp = f.stack.at(4000)}).bridged == false);
}

TEST_CASE("instructions that move the stack pointer") {
  using Kind = Instruction::Kind;
  const auto check = [](const Bytes& bytes, Kind kind, std::int64_t number = 0) {
    const Instruction instruction = decoded(bytes);
    CHECK(static_cast<int>(instruction.kind) == static_cast<int>(kind));
    CHECK(instruction.length == static_cast<int>(bytes.size()));
    if (kind == Kind::adjust || kind == Kind::from_bp) CHECK(instruction.number == number);
  };
  check({0x48, 0x83, 0xec, 0x18}, Kind::adjust, -24);
  check({0x48, 0x81, 0xc4, 0x00, 0x01, 0, 0}, Kind::adjust, 256);
  check({0x48, 0x8d, 0x64, 0x24, 0xf8}, Kind::adjust, -8);
  check({0x48, 0x8d, 0x65, 0xd8}, Kind::from_bp, -40);
  check({0x48, 0x89, 0xec}, Kind::from_bp, 0);
  check({0x48, 0x89, 0xe5}, Kind::to_bp);
  check({0x48, 0x83, 0xe4, 0xf0}, Kind::unknown);  // and
  check({0x48, 0x89, 0xcc}, Kind::unknown);        // from rcx
  check({0x41, 0x54}, Kind::push);
  check({0x41, 0x5c}, Kind::pop);
  check({0x5c}, Kind::unknown);
  check({0x31, 0xed}, Kind::spoil_bp);
  check({0x48, 0x8b, 0x6c, 0x24, 0x10}, Kind::load_bp);
  check({0xf2, 0xff, 0x25, 1, 2, 3, 4}, Kind::jump_to);
  check({0x66, 0x66, 0x48, 0xe8, 1, 2, 3, 4}, Kind::call);
  check({0xc5, 0xf8, 0x77}, Kind::other);                                // vzeroupper
  check({0x62, 0xf1, 0x7c, 0x48, 0x10, 0x44, 0x24, 0x01}, Kind::other);  // vmovups 64(rsp), zmm0
  check({0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, Kind::other);              // movabs
  check({0x66, 0xc7, 0x44, 0x24, 0x02, 0x34, 0x12}, Kind::other);        // movw
  check({0xf6, 0xc1, 0x08}, Kind::other);                                // test
  check({0xf7, 0xd1}, Kind::other);                                      // not
  check({0x66, 0x0f, 0x3a, 0x63, 0xc1, 0x1a}, Kind::other);              // pcmpistri
}

TEST_CASE("decoding function after function of the C library ends where each function does") {
  CodeModule module;
  REQUIRE(find_loaded_module(nullptr, reinterpret_cast<std::uint64_t>(&std::qsort), module));
  const std::uint64_t table = module.eh_frame_hdr + 12;
  const auto count = load_as<std::uint32_t>(module.eh_frame_hdr + 8);
  unsigned functions = 0;
  unsigned missed = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    FrameDescription function;
    const auto offset = std::int64_t{load_as<std::int32_t>(table + 8 * i + 4)};
    if (!parse_description(module, module.eh_frame_hdr + static_cast<std::uint64_t>(offset), function))
      continue;
    CodeBytes code(&module, function.code_begin);
    Instruction next;
    do {
      next = decode_instruction(code);
      code.move_to(code.address() + static_cast<std::uint64_t>(next.length));
    } while (next.length != 0 && code.address() < function.code_end);
    ++functions;
    if (code.address() != function.code_end) ++missed;
  }
  CHECK(functions > 1000);
  CHECK(missed * 200 <= functions);  // what compilers do not emit: rare instructions in assembly
}

TEST_CASE("arbitrary bytes are decoded or refused, never read beyond the module") {
  CHECK(rc::check("arbitrary bytes", [] {
    FakeModule fake;
    fake.finish();
    const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(40, rc::gen::arbitrary<std::uint8_t>());
    const std::uint64_t end = fake.module().end;
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(end - bytes.size()));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      CodeBytes code(&fake.module(), end - bytes.size() + i);
      const Instruction instruction = decode_instruction(code);
      RC_ASSERT(instruction.length >= 0);
      RC_ASSERT(static_cast<std::size_t>(instruction.length) <= bytes.size() - i);
    }
  }));
}

}  // namespace way_out_test
