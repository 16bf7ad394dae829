// Calls, and the kernel's return from a signal's handler, by their instructions. PLT stubs and veneers are
// followed as other code without call-frame information is (way_out.cpp).
#include "unwind/code_shapes.hpp"

#include "machine/aarch64/flow.hpp"
#include "unwind/aarch64/frame_change.hpp"

namespace culprit::unwind {

namespace {

constexpr int kInstruction = 4;

bool read_code(CodeBytes& code, int offset, std::uint32_t& word) noexcept {
  if (code.at(offset) < 0 || code.at(offset + kInstruction - 1) < 0) return false;
  word = static_cast<std::uint32_t>(code.number(offset, kInstruction));
  return true;
}

bool call_before(CodeBytes& code, machine::aarch64::Flow& flow) noexcept {
  std::uint32_t word = 0;
  if (code.address() % kInstruction != 0 || !read_code(code, -kInstruction, word)) return false;
  flow = machine::aarch64::flow_of(word);
  return flow.kind == machine::aarch64::Flow::Kind::call;
}

/// mov x8, #__NR_rt_sigreturn; svc #0: the kernel says so of all its versions ("please do not modify").
bool is_signal_return(CodeBytes& code) noexcept {
  std::uint32_t number = 0;
  std::uint32_t call = 0;
  return read_code(code, 0, number) && read_code(code, kInstruction, call) && number == 0xd2801168U &&
         call == 0xd4000001U;
}

}  // namespace

// The head of the table pushes the slot's address and the return address, and jumps to the resolver.
int plt_stub_pushed(const CodeModule& module, std::uint64_t pc) noexcept {
  constexpr int kBehind = 4;  // adrp, ldr, add, br
  CodeBytes code(&module, pc);
  std::uint32_t word = 0;
  for (int i = 1; i <= kBehind; ++i) {
    if (pc % kInstruction == 0 && read_code(code, -kInstruction * i, word) && word == aarch64::kPltHead)
      return 8;
  }
  return -1;
}

bool follows_call(CodeBytes& code) noexcept {
  machine::aarch64::Flow flow;
  return call_before(code, flow);
}

bool names_callee(CodeBytes& code, std::uint64_t& target) noexcept {
  machine::aarch64::Flow flow;
  if (!call_before(code, flow) || !flow.direct) return false;
  target = code.address() - kInstruction + static_cast<std::uint64_t>(flow.distance);
  return true;
}

std::uint64_t through_stub(const CodeModule& /*module*/, std::uint64_t target) noexcept {
  return target;
}

// The handler's return address is the first of the two instructions, the byte before it what a rule is asked
// for; a thread may also stand at either. The stack pointer points to siginfo_t (128 bytes) and ucontext_t,
// in which the registers begin 184 bytes further: x0 to x30, sp, pc.
bool knows_signal_return(const CodeModule* module, std::uint64_t pc, Rule& rule) noexcept {
  const std::uint64_t first = (pc + kInstruction - 1) / kInstruction * kInstruction;
  CodeBytes code(module, first);
  bool found = is_signal_return(code);
  if (!found && pc % kInstruction == 0) {
    code.move_to(first - kInstruction);
    found = is_signal_return(code);
  }
  if (!found) return false;
  constexpr std::int16_t kFirstRegister = (128 + 184) / 8;
  rule = Rule{};
  rule.form = RuleForm::compact;
  rule.signal_frame = true;
  rule.cfa_register = machine::Aarch64::kStackPointer;
  rule.cfa_loaded = true;
  rule.cfa_offset = (kFirstRegister + 31) * 8;
  rule.return_base = SlotBase::sp;
  rule.return_slot = kFirstRegister + 32;
  rule.saved_base = SlotBase::sp;
  rule.saved[0] = kFirstRegister + 29;
  rule.saved[1] = kFirstRegister + 30;
  return true;
}

}  // namespace culprit::unwind
