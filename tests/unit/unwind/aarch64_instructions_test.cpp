#include "machine/aarch64/flow.hpp"
#include "unwind/aarch64/frame_change.hpp"

#include <cstdint>

#include <catch2/catch.hpp>

namespace aarch64_instructions_test {

// Instructions as GNU as gives them, on whatever processor this runs.

using culprit::machine::aarch64::Flow;
using culprit::machine::aarch64::flow_of;
using culprit::unwind::aarch64::frame_change_of;
using culprit::unwind::aarch64::FrameChange;

namespace {

void check_flow(std::uint32_t code, Flow::Kind kind, std::int64_t distance = 0) {
  CAPTURE(code);
  const Flow flow = flow_of(code);
  CHECK(static_cast<int>(flow.kind) == static_cast<int>(kind));
  CHECK(flow.distance == distance);
}

struct Memory {
  bool loads;
  unsigned reg, second, base;
  std::int64_t number, writeback;
};

void check_memory(std::uint32_t code, const Memory& expected) {
  CAPTURE(code);
  const FrameChange change = frame_change_of(code);
  CHECK(static_cast<int>(change.kind) == static_cast<int>(FrameChange::Kind::memory));
  CHECK(change.loads == expected.loads);
  CHECK(unsigned{change.reg} == expected.reg);
  CHECK(unsigned{change.second} == expected.second);
  CHECK(unsigned{change.base} == expected.base);
  CHECK(change.number == expected.number);
  CHECK(change.writeback == expected.writeback);
}

void check_set(std::uint32_t code, unsigned reg, unsigned base, std::int64_t number) {
  CAPTURE(code);
  const FrameChange change = frame_change_of(code);
  CHECK(static_cast<int>(change.kind) == static_cast<int>(FrameChange::Kind::set));
  CHECK(unsigned{change.reg} == reg);
  CHECK(unsigned{change.base} == base);
  CHECK(change.number == number);
}

void check_kind(std::uint32_t code, FrameChange::Kind kind) {
  CAPTURE(code);
  CHECK(static_cast<int>(frame_change_of(code).kind) == static_cast<int>(kind));
}

constexpr unsigned kNone = FrameChange::kNone;

}  // namespace

TEST_CASE("aarch64: branches, calls and returns") {
  using Kind = Flow::Kind;
  check_flow(0x14000004, Kind::jump, 16);    // b . + 16
  check_flow(0x17ffffff, Kind::jump, -4);    // b . - 4
  check_flow(0x94000002, Kind::call, 8);     // bl . + 8
  check_flow(0x54000041, Kind::branch, 8);   // b.ne . + 8
  check_flow(0xb4ffffe3, Kind::branch, -4);  // cbz x3, . - 4
  check_flow(0x35000040, Kind::branch, 8);   // cbnz w0, . + 8
  check_flow(0x37180040, Kind::branch, 8);   // tbnz w0, #3, . + 8
  check_flow(0xb6f80042, Kind::branch, 8);   // tbz x2, #63, . + 8
  check_flow(0xd61f0220, Kind::computed);    // br x17
  check_flow(0xd71f0a11, Kind::computed);    // braa x16, x17
  check_flow(0xd63f0060, Kind::call);        // blr x3
  check_flow(0xd65f03c0, Kind::ret);         // ret
  check_flow(0xd65f0bff, Kind::ret);         // retaa
  check_flow(0xd4200000, Kind::trap);        // brk #0
  check_flow(0x00000000, Kind::trap);        // udf #0
  check_flow(0xd4000001, Kind::next);        // svc #0
  check_flow(0xd503245f, Kind::next);        // bti c
  check_flow(0x8b020020, Kind::next);        // add x0, x1, x2
  CHECK(flow_of(0xd61f0220).reg == 17);
  CHECK(flow_of(0xd65f03c0).reg == 30);
  CHECK(flow_of(0xd65f0bff).reg == 30);
  CHECK(flow_of(0x94000002).direct);
  CHECK_FALSE(flow_of(0xd63f0060).direct);
}

TEST_CASE("aarch64: what sets the stack pointer and x29") {
  check_set(0xd10083ff, 31, 31, -32);                  // sub sp, sp, #32
  check_set(0x910083ff, 31, 31, 32);                   // add sp, sp, #32
  check_set(0xd14007ff, 31, 31, -4096);                // sub sp, sp, #1, lsl #12
  check_set(0x910003fd, 29, 31, 0);                    // mov x29, sp
  check_set(0x910043fd, 29, 31, 16);                   // add x29, sp, #16
  check_set(0x910003bf, 31, 29, 0);                    // mov sp, x29
  check_kind(0xcb3063ff, FrameChange::Kind::unknown);  // sub sp, sp, x16
  check_kind(0x9274cc1f, FrameChange::Kind::unknown);  // and sp, x0, #...
  check_kind(0xf100001f, FrameChange::Kind::none);     // cmp x0, #0: 31 is no register there
  check_kind(0x910003e0, FrameChange::Kind::none);     // mov x0, sp
  check_kind(0xaa0003fd, FrameChange::Kind::spoil);    // mov x29, x0
  check_kind(0xaa0003fe, FrameChange::Kind::spoil);    // mov x30, x0
  check_kind(0x8b020020, FrameChange::Kind::none);     // add x0, x1, x2
  check_kind(0xd503233f, FrameChange::Kind::none);     // paciasp
}

TEST_CASE("aarch64: what stores and loads x29 and x30") {
  check_memory(0xa9be7bfd, {false, 29, 30, 31, -32, -32});        // stp x29, x30, [sp, #-32]!
  check_memory(0xa8c27bfd, {true, 29, 30, 31, 0, 32});            // ldp x29, x30, [sp], #32
  check_memory(0xa9017bfd, {false, 29, 30, 31, 16, 0});           // stp x29, x30, [sp, #16]
  check_memory(0xa9417bfd, {true, 29, 30, 31, 16, 0});            // ldp x29, x30, [sp, #16]
  check_memory(0xf81f0ffe, {false, 30, kNone, 31, -16, -16});     // str x30, [sp, #-16]!
  check_memory(0xf84107fe, {true, 30, kNone, 31, 0, 16});         // ldr x30, [sp], #16
  check_memory(0xf9000ffe, {false, 30, kNone, 31, 24, 0});        // str x30, [sp, #24]
  check_memory(0xf9400ffe, {true, 30, kNone, 31, 24, 0});         // ldr x30, [sp, #24]
  check_memory(0xf85f83be, {true, 30, kNone, 29, -8, 0});         // ldur x30, [x29, #-8]
  check_memory(0x6dbf27e8, {false, kNone, kNone, 31, -16, -16});  // stp d8, d9, [sp, #-16]!
  check_memory(0xadbe07e0, {false, kNone, kNone, 31, -64, -64});  // stp q0, q1, [sp, #-64]!
  check_memory(0x28c107e0, {true, kNone, kNone, 31, 0, 8});       // ldp w0, w1, [sp], #8
  check_kind(0xb84107fe, FrameChange::Kind::unknown);             // ldr w30, [sp], #16: half of an address
}

}  // namespace aarch64_instructions_test
