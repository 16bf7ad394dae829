#include "fake_module.hpp"
#include "machine/x86_64/call_frames.hpp"
#include "unwind/call_frame_program.hpp"
#include "unwind/rule_reduction.hpp"

#include <cstring>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace call_frame_test {

// The call-frame compiler on hand-made bytes: every instruction, every encoding, and bytes that make no
// sense. By the registers of x86-64, on whatever processor this runs; call_frame_aarch64_test.cpp has the
// rest.

using namespace culprit::unwind;
using namespace culprit::unwind::testing;
using Machine = culprit::machine::X86_64;
using Row = RowOf<Machine>;
using RowWorkspace = RowWorkspaceOf<Machine>;

namespace {

constexpr std::uint8_t kRbx = 3, kRbp = 6, kRsp = 7, kReturnAddress = 16;

struct Compiled {
  bool ok = false;
  Row row;
};

/// The row at `pc_offset` bytes into a function with these instructions.
Compiled row_of(const Cfi& instructions, std::uint64_t pc_offset = 0x20,
                const FakeModule::Common& common = {}) {
  FakeModule fake;
  fake.add(0x100, 0x2000, instructions.bytes, common);
  fake.finish();
  FrameDescription description;
  RowWorkspace workspace;
  Compiled compiled;
  compiled.ok = find_description(fake.module(), fake.at(0x100 + pc_offset), description) &&
                row_at(fake.module(), description, fake.at(0x100 + pc_offset), workspace);
  compiled.row = workspace.row;
  return compiled;
}

void check(const RegisterRule& rule, RegisterHow how, std::int64_t value) {
  CHECK(static_cast<int>(rule.how) == static_cast<int>(how));
  CHECK(rule.value == value);
}

Rule rule_of(const Bytes& instructions, const FakeModule::Common& common = {},
             std::uint64_t pc_offset = 0x20) {
  FakeModule fake;
  fake.add(0x100, 0x2000, instructions, common);
  fake.finish();
  RowWorkspace workspace;
  return compile_rule(fake.module(), fake.at(0x100 + pc_offset), workspace);
}

}  // namespace

TEST_CASE("initial instructions give the first row") {
  const Compiled compiled = row_of(Cfi{});
  REQUIRE(compiled.ok);
  CHECK(compiled.row.cfa_register == kRsp);
  check(compiled.row.cfa, RegisterHow::in_register, 8);
  check(compiled.row.registers[kReturnAddress], RegisterHow::at_offset, -8);
  check(compiled.row.registers[kRbp], RegisterHow::unspecified, 0);
}

TEST_CASE("rows take effect exactly at their address") {
  const Cfi program = Cfi{}.advance(4).def_cfa_offset(16).u8(0x02).u8(4).def_cfa_offset(24);
  CHECK(row_of(program, 3).row.cfa.value == 8);
  CHECK(row_of(program, 4).row.cfa.value == 16);
  CHECK(row_of(program, 7).row.cfa.value == 16);
  CHECK(row_of(program, 8).row.cfa.value == 24);
}

TEST_CASE("advances of every size") {
  CHECK(row_of(Cfi{}.u8(0x02).u8(0x90).def_cfa_offset(32), 0x90).row.cfa.value == 32);
  CHECK(row_of(Cfi{}.u8(0x03).u16(0x190).def_cfa_offset(32), 0x190).row.cfa.value == 32);
  CHECK(row_of(Cfi{}.u8(0x03).u16(0x190).def_cfa_offset(32), 0x18f).row.cfa.value == 8);
  CHECK(row_of(Cfi{}.u8(0x04).u32(0x1190).def_cfa_offset(32), 0x1190).row.cfa.value == 32);
  // DW_CFA_set_loc with an absolute pointer far beyond pc ends the program
  FakeModule::Common absolute;
  absolute.pointer_encoding = 0x00;
  CHECK(row_of(Cfi{}.u8(0x01).u64(~std::uint64_t{0}).def_cfa_offset(32), 0x20, absolute).row.cfa.value == 8);
}

TEST_CASE("every way to define the CFA") {
  const Compiled both = row_of(Cfi{}.def_cfa(6, 16));
  CHECK(both.row.cfa_register == kRbp);
  check(both.row.cfa, RegisterHow::in_register, 16);
  CHECK(row_of(Cfi{}.def_cfa_register(3)).row.cfa_register == kRbx);
  check(row_of(Cfi{}.u8(0x12).uleb(6).sleb(-2)).row.cfa, RegisterHow::in_register, 16);
  check(row_of(Cfi{}.u8(0x13).sleb(-4)).row.cfa, RegisterHow::in_register, 32);
  const Compiled expression = row_of(Cfi{}.cfa_expression(breg(7, 8)));
  CHECK(expression.ok);
  CHECK(static_cast<int>(expression.row.cfa.how) == static_cast<int>(RegisterHow::is_expression));
  CHECK_FALSE(row_of(Cfi{}.cfa_expression(breg(7, 8)).def_cfa_offset(8)).ok);
}

TEST_CASE("every way to save a register") {
  check(row_of(Cfi{}.offset(6, 2)).row.registers[6], RegisterHow::at_offset, -16);
  check(row_of(Cfi{}.u8(0x05).uleb(3).uleb(4)).row.registers[3], RegisterHow::at_offset, -32);
  check(row_of(Cfi{}.u8(0x11).uleb(3).sleb(-4)).row.registers[3], RegisterHow::at_offset, 32);
  check(row_of(Cfi{}.u8(0x2f).uleb(3).uleb(4)).row.registers[3], RegisterHow::at_offset, 32);
  check(row_of(Cfi{}.u8(0x14).uleb(3).uleb(4)).row.registers[3], RegisterHow::is_offset, -32);
  check(row_of(Cfi{}.u8(0x15).uleb(3).sleb(-4)).row.registers[3], RegisterHow::is_offset, 32);
  check(row_of(Cfi{}.u8(0x09).uleb(3).uleb(12)).row.registers[3], RegisterHow::in_register, 12);
  check(row_of(Cfi{}.offset(3, 3).u8(0x08).uleb(3)).row.registers[3], RegisterHow::same, 0);
  check(row_of(Cfi{}.offset(3, 3).undefined(3)).row.registers[3], RegisterHow::undefined, 0);
  CHECK(row_of(Cfi{}.expression(3, breg(6, -8))).row.registers[3].how == RegisterHow::at_expression);
  CHECK(row_of(Cfi{}.u8(0x16).uleb(3).block(breg(6, -8))).row.registers[3].how == RegisterHow::is_expression);
  CHECK(row_of(Cfi{}.offset(40, 2).u8(0x05).uleb(70).uleb(3)).ok);  // vector registers are of no interest
}

TEST_CASE("restored rules are those of the common entry") {
  FakeModule::Common common;
  common.initial = Cfi{}.def_cfa(7, 8).offset(16, 1).offset(12, 5).bytes;
  check(row_of(Cfi{}.offset(12, 9).u8(0xc0U | 12U), 0x20, common).row.registers[12], RegisterHow::at_offset,
        -40);
  check(row_of(Cfi{}.offset(6, 9).u8(0x06).uleb(6)).row.registers[6], RegisterHow::unspecified, 0);
}

TEST_CASE("remembered states nest, and bring the CFA back") {
  const Cfi program = Cfi{}
                          .def_cfa_offset(16)
                          .u8(0x0a)
                          .def_cfa(6, 32)
                          .offset(3, 4)
                          .u8(0x0a)
                          .def_cfa(3, 64)
                          .u8(0x0b)
                          .advance(8)
                          .u8(0x0b);
  CHECK(row_of(program, 4).row.cfa_register == kRbp);
  CHECK(row_of(program, 4).row.cfa.value == 32);
  check(row_of(program, 4).row.registers[3], RegisterHow::at_offset, -32);
  CHECK(row_of(program, 8).row.cfa_register == kRsp);
  CHECK(row_of(program, 8).row.cfa.value == 16);
  check(row_of(program, 8).row.registers[3], RegisterHow::unspecified, 0);
  CHECK_FALSE(row_of(Cfi{}.u8(0x0b)).ok);
  Cfi deep;
  for (int i = 0; i < 20; ++i) deep.u8(0x0a);
  CHECK_FALSE(row_of(deep).ok);
}

TEST_CASE("augmentations of C++, assembly and signal frames") {
  FakeModule::Common common;
  common.augmentation = "zPLR";
  CHECK(row_of(Cfi{}.def_cfa_offset(48), 0x20, common).row.cfa.value == 48);
  common.augmentation = "zRS";
  CHECK(rule_of(Cfi{}.bytes, common).signal_frame);
  common.augmentation = "zR";
  common.version = 3;
  CHECK(row_of(Cfi{}.def_cfa_offset(48), 0x20, common).row.cfa.value == 48);
  common.pointer_encoding = 0x00;
  CHECK(row_of(Cfi{}.def_cfa_offset(48), 0x20, common).row.cfa.value == 48);
  common.augmentation = "";
  CHECK(row_of(Cfi{}.def_cfa_offset(48), 0x20, common).row.cfa.value == 48);
  common.augmentation = "zQ";
  CHECK_FALSE(row_of(Cfi{}, 0x20, common).ok);
  common.augmentation = "eh";
  CHECK_FALSE(row_of(Cfi{}, 0x20, common).ok);
}

TEST_CASE("only code that a description covers has a rule") {
  FakeModule fake;
  fake.add(0x100, 0x40, Cfi{}.bytes);
  fake.add(0x200, 0x40, Cfi{}.def_cfa_offset(24).bytes);
  fake.add(0x240, 0x10, Cfi{}.def_cfa_offset(40).bytes);
  fake.finish();
  RowWorkspace workspace;
  const auto form = [&](std::uint64_t at) {
    return compile_rule(fake.module(), fake.at(at), workspace).form;
  };
  CHECK(form(0xff) == RuleForm::none);
  CHECK(form(0x100) == RuleForm::sp_frame);
  CHECK(form(0x13f) == RuleForm::sp_frame);
  CHECK(form(0x140) == RuleForm::none);
  CHECK(compile_rule(fake.module(), fake.at(0x23f), workspace).cfa_offset == 24);
  CHECK(compile_rule(fake.module(), fake.at(0x240), workspace).cfa_offset == 40);
  CHECK(form(0x250) == RuleForm::none);
  CodeModule without = fake.module();
  without.eh_frame_hdr = 0;
  CHECK(compile_rule(without, fake.at(0x100), workspace).form == RuleForm::none);
}

TEST_CASE("rows reduce to the simplest rule that says the same") {
  CHECK(rule_of(Cfi{}.def_cfa_offset(32).offset(6, 2).bytes).form == RuleForm::sp_frame);
  CHECK(rule_of(Cfi{}.def_cfa(6, 16).offset(6, 2).bytes).form == RuleForm::bp_frame);
  CHECK(rule_of(Cfi{}.def_cfa(3, 16).offset(3, 2).bytes).form == RuleForm::bx_frame);
  CHECK(rule_of(Cfi{}.undefined(16).bytes).form == RuleForm::root);
  CHECK(rule_of(Cfi{}.def_cfa(10, 0).bytes).form == RuleForm::compact);
  CHECK(rule_of(Cfi{}.u8(0x14).uleb(6).uleb(2).bytes).form == RuleForm::general);
  CHECK(rule_of(Cfi{}.u8(0x09).uleb(16).uleb(2).bytes).form == RuleForm::general);
  const Rule rule = rule_of(Cfi{}.def_cfa_offset(64).offset(6, 2).offset(3, 3).offset(15, 4).bytes);
  CHECK(rule.cfa_offset == 64);
  CHECK(rule.saved[0] == -2);
  CHECK(rule.saved[1] == -3);
  CHECK(rule.saved[2] == Rule::kUnchanged);
  CHECK(rule.saved[5] == -4);
}

TEST_CASE("a PLT stub's expression becomes an offset from the stack pointer") {
  // DW_OP_breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus
  const Bytes expression = breg(7, 8) + breg(16, 0) + Bytes{0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  const Bytes program = Cfi{}.cfa_expression(expression).bytes;
  const Rule before = rule_of(program, {}, 0x2a);
  CHECK(before.form == RuleForm::sp_frame);
  CHECK(before.cfa_offset == 8);
  const Rule after = rule_of(program, {}, 0x2b);
  CHECK(after.form == RuleForm::sp_frame);
  CHECK(after.cfa_offset == 16);
}

TEST_CASE("a realigned frame's expressions become a load from the frame pointer") {
  const Rule rule = rule_of(Cfi{}
                                .cfa_expression(breg(6, -8) + Bytes{0x06})
                                .expression(6, breg(6, 0))
                                .expression(13, breg(6, -16))
                                .bytes);
  CHECK(rule.form == RuleForm::compact);
  CHECK(rule.cfa_register == kRbp);
  CHECK(rule.cfa_offset == -8);
  CHECK(rule.cfa_loaded);
  CHECK(rule.saved_base == SlotBase::bp);
  CHECK(rule.saved[0] == 0);
  CHECK(rule.saved[3] == -2);
}

TEST_CASE("damaged tables are never read beyond the module") {
  CHECK(rc::check("arbitrary bytes", [] {
    FakeModule fake;
    fake.add(0x100, 0x100, Cfi{}.advance(8).def_cfa_offset(16).offset(6, 2).advance(8).u8(0x0a).bytes);
    fake.add(0x200, 0x100, Cfi{}.cfa_expression(breg(6, -8) + Bytes{0x06}).bytes);
    fake.finish();
    const auto [begin, end] = fake.tables();
    const auto places = *rc::gen::container<std::vector<std::pair<std::uint16_t, std::uint8_t>>>(
        rc::gen::pair(rc::gen::arbitrary<std::uint16_t>(), rc::gen::arbitrary<std::uint8_t>()));
    for (const auto& [place, value] : places) {
      // The header's first bytes and the entries; what lies between is empty.
      const std::uint64_t offset = place % 128;
      fake.bytes()[offset < 32 ? begin + offset : end - 96 + offset - 32] = value;
    }
    RowWorkspace workspace;
    for (std::uint64_t pc = 0xf0; pc < 0x310; pc += 3) {
      const Rule rule = compile_rule(fake.module(), fake.at(pc), workspace);
      RC_ASSERT(rule.form <= RuleForm::none);
    }
  }));
}

TEST_CASE("a table at the very end of the mapping ends there") {
  FakeModule fake;
  fake.add(0x100, 0x100, Cfi{}.def_cfa_offset(16).bytes);
  fake.finish();
  FrameDescription description;
  // An entry whose length reaches beyond the module, and one that is cut off within its length field.
  const std::uint64_t last = fake.module().end;
  *reinterpret_cast<std::uint32_t*>(last - 8) = 0x1000;
  CHECK_FALSE(parse_description(fake.module(), last - 8, description));
  CHECK_FALSE(parse_description(fake.module(), last - 2, description));
  CHECK_FALSE(parse_description(fake.module(), last + 64, description));
  CHECK_FALSE(parse_description(fake.module(), fake.module().begin - 64, description));
  *reinterpret_cast<std::uint32_t*>(last - 16) = 0xffffffff;  // a 64-bit length
  std::memset(reinterpret_cast<void*>(last - 12), 0xff, 8);
  CHECK_FALSE(parse_description(fake.module(), last - 16, description));
}

}  // namespace call_frame_test
