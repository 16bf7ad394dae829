#include "fake_module.hpp"
#include "machine/aarch64/call_frames.hpp"
#include "unwind/call_frame_program.hpp"
#include "unwind/rule_reduction.hpp"

#include <catch2/catch.hpp>

namespace call_frame_aarch64_test {

// What aarch64's call-frame information has that x86-64's has not, on whatever processor this runs: return
// addresses in a register, signatures, frame records at the bottom of frames.

using namespace culprit::unwind;
using namespace culprit::unwind::testing;
using Machine = culprit::machine::Aarch64;

namespace {

constexpr unsigned kFrame = 29, kLink = 30, kStack = 31;
constexpr unsigned kNegate = 0x2d, kRemember = 0x0a, kRestore = 0x0b;

/// The rule `instructions` behind the beginning of a function (of 4 bytes each).
Rule rule_of(const Cfi& program, std::uint64_t instructions) {
  FakeModule fake;
  fake.add(0x100, 0x2000, program.bytes, FakeModule::aarch64());
  fake.finish();
  RowWorkspaceOf<Machine> workspace;
  return compile_rule(fake.module(), fake.at(0x100 + 4 * instructions), workspace);
}

/// stp x29, x30, [sp, -32]!; ...; ldp x29, x30, [sp], 32; ret
Cfi usual_function() {
  Cfi program;
  program.advance(1).def_cfa_offset(32).offset(kFrame, 4).offset(kLink, 3);
  return program.advance(5).u8(0xc0U | kFrame).u8(0xc0U | kLink).def_cfa_offset(0);
}

}  // namespace

TEST_CASE("aarch64: a function that saved nothing returns by the link register") {
  const Rule rule = rule_of(Cfi{}, 3);
  CHECK(rule.form == RuleForm::compact);
  CHECK(rule.cfa_register == kStack);
  CHECK(rule.cfa_offset == 0);
  CHECK(rule.return_slot == Rule::kUnchanged);
  CHECK(rule.saved[0] == Rule::kUnchanged);
  CHECK(rule.saved[1] == Rule::kUnchanged);
}

TEST_CASE("aarch64: a leaf with a frame has a CFA of its own, and returns by the link register") {
  const Rule rule = rule_of(Cfi{}.advance(1).def_cfa_offset(48), 1);
  CHECK(rule.cfa_offset == 48);
  CHECK(rule.return_slot == Rule::kUnchanged);
}

TEST_CASE("aarch64: a frame record lies at the bottom of a frame") {
  const Rule rule = rule_of(usual_function(), 3);
  CHECK(rule.form == RuleForm::sp_frame);
  CHECK(rule.cfa_offset == 32);
  CHECK(rule.return_slot == -3);
  CHECK(rule.saved[0] == -4);
  CHECK(rule.saved[1] == -3);
  CHECK_FALSE(rule.signed_return);
}

TEST_CASE("aarch64: before the record is stored and after it is loaded the link register counts") {
  CHECK(rule_of(usual_function(), 0).return_slot == Rule::kUnchanged);
  CHECK(rule_of(usual_function(), 5).return_slot == -3);
  const Rule last = rule_of(usual_function(), 6);
  CHECK(last.return_slot == Rule::kUnchanged);
  CHECK(last.saved[0] == Rule::kUnchanged);
  CHECK(last.cfa_offset == 0);
}

TEST_CASE("aarch64: a frame of changing size is found by x29") {
  const Rule rule = rule_of(
      Cfi{}.advance(1).def_cfa_offset(32).offset(kFrame, 4).offset(kLink, 3).def_cfa_register(kFrame), 2);
  CHECK(rule.form == RuleForm::bp_frame);
  CHECK(rule.cfa_register == kFrame);
}

TEST_CASE("aarch64: an undefined return address is the thread's first frame") {
  CHECK(rule_of(Cfi{}.undefined(kLink), 0).form == RuleForm::root);
}

TEST_CASE("aarch64: signatures begin and end where the call-frame information says so") {
  Cfi program;
  program.advance(1).u8(kNegate);
  program.advance(1).def_cfa_offset(16).offset(kFrame, 2).offset(kLink, 1);
  program.u8(kRemember).advance(2).u8(0xc0U | kFrame).u8(0xc0U | kLink).def_cfa_offset(0);
  program.advance(1).u8(kNegate);   // autiasp
  program.advance(1).u8(kRestore);  // code behind a return has the frame again
  CHECK_FALSE(rule_of(program, 0).signed_return);
  CHECK(rule_of(program, 1).signed_return);  // in the link register
  CHECK(rule_of(program, 2).signed_return);
  CHECK(rule_of(program, 2).return_slot == -1);
  CHECK(rule_of(program, 4).signed_return);
  CHECK_FALSE(rule_of(program, 5).signed_return);
  CHECK(rule_of(program, 6).signed_return);
  CHECK(rule_of(program, 6).return_slot == -1);
}

TEST_CASE("aarch64: a return address above the CFA, as glibc's resolver has it, belongs to the callee") {
  // On entry the return address lies 8 bytes above the stack pointer; then 208 bytes are pushed.
  Cfi program;
  program.advance(1).u8(0x11).uleb(kLink).sleb(-1).advance(1).def_cfa_offset(208);
  program.advance(4).def_cfa_offset(0).advance(1).u8(0x13).sleb(2);
  CHECK(rule_of(program, 0).cfa_offset == 16);  // not described, but so all the same
  CHECK(rule_of(program, 0).return_slot == Rule::kUnchanged);
  CHECK(rule_of(program, 1).cfa_offset == 16);
  CHECK(rule_of(program, 1).return_slot == -1);
  CHECK(rule_of(program, 1).saved[1] == -1);
  CHECK(rule_of(program, 2).cfa_offset == 224);
  CHECK(rule_of(program, 2).return_slot == -1);
  CHECK(rule_of(program, 2).form == RuleForm::sp_frame);
  CHECK(rule_of(program, 6).cfa_offset == 16);
  CHECK(rule_of(program, 7).cfa_offset == 0);  // all is taken off
  CHECK(rule_of(program, 7).return_slot == Rule::kUnchanged);
}

TEST_CASE("aarch64: the CFA from a register that only the row can say") {
  const Rule rule = rule_of(Cfi{}.def_cfa(19, 64), 0);
  CHECK(rule.form == RuleForm::compact);
  CHECK(rule.cfa_register == 19);
  // A return address in another register.
  CHECK(rule_of(Cfi{}.u8(0x09).uleb(kLink).uleb(9), 0).form == RuleForm::general);
}

TEST_CASE("aarch64: registers that have no place in a row are read and dropped") {
  const Rule rule = rule_of(Cfi{}.u8(0x05).uleb(72).uleb(2).advance(1).def_cfa_offset(16), 1);  // d8
  CHECK(rule.cfa_offset == 16);
}

TEST_CASE("aarch64: what makes no sense is no rule") {
  CHECK(rule_of(Cfi{}.def_cfa(32, 0), 0).form == RuleForm::none);  // the pc is no register
  FakeModule::Common damaged = FakeModule::aarch64();
  damaged.return_register = 99;
  FakeModule fake;
  fake.add(0x100, 0x100, {}, damaged);
  fake.finish();
  RowWorkspaceOf<Machine> workspace;
  CHECK(compile_rule(fake.module(), fake.at(0x110), workspace).form == RuleForm::none);
}

}  // namespace call_frame_aarch64_test
