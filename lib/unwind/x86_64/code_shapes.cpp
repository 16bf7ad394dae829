// Calls, PLT stubs and what they have pushed, by the instructions' bytes.
#include "unwind/code_shapes.hpp"

namespace culprit::unwind {

namespace {

// FF /2, the indirect call, with its length by ModRM (and SIB), ending at the address.
bool indirect_call_before(CodeBytes& code) noexcept {
  for (int length = 2; length <= 7; ++length) {
    if (code.at(-length) != 0xff) continue;
    const int modrm = code.at(1 - length);
    if ((modrm >> 3 & 7) != 2) continue;
    const int mod = modrm >> 6;
    const int rm = modrm & 7;
    int expected = 2;
    if (mod != 3 && rm == 4) ++expected;
    if (mod == 1) expected += 1;
    if (mod == 2 || (mod == 0 && rm == 5)) expected += 4;
    if (mod == 0 && rm == 4 && (code.at(2 - length) & 7) == 5) expected += 4;
    if (expected == length) return true;
  }
  return false;
}

}  // namespace

int plt_stub_pushed(const CodeModule& module, std::uint64_t pc) noexcept {
  CodeBytes code(&module, pc);
  const bool jumps = code.has(0, 0xff, 0x25) || code.has(0, 0xf2, 0xff);  // [bnd] jmp *slot(%rip)
  if (jumps && code.has(-6, 0xff, 0x35)) return 16;  // the first entry: module and index pushed
  if (code.has(0, 0xff, 0x35)) return 8;             // the first entry: index pushed
  if (jumps) return 0;
  const bool pushes = code.at(0) == 0x68;  // push $index; jmp first entry
  if (pushes && (code.at(5) == 0xe9 || code.has(5, 0xf2, 0xe9))) return 0;
  const bool leaves = code.at(0) == 0xe9 || code.has(0, 0xf2, 0xe9);
  if (leaves && code.at(-5) == 0x68) return 8;
  const bool marked = code.has(0, 0xf3, 0x0f) && code.has(2, 0x1e, 0xfa);  // endbr64 before any of these
  if (marked && (code.has(4, 0xff, 0x25) || code.has(4, 0xf2, 0xff) || code.at(4) == 0x68)) return 0;
  return -1;
}

bool follows_call(CodeBytes& code) noexcept {
  return code.at(-5) == 0xe8 || indirect_call_before(code);
}

bool names_callee(CodeBytes& code, std::uint64_t& target) noexcept {
  if (code.at(-5) != 0xe8) return false;
  target = code.address() + static_cast<std::uint64_t>(code.number(-4, 4));
  return true;
}

// A PLT stub: [endbr64] [bnd] jmp *slot(%rip).
std::uint64_t through_stub(const CodeModule& module, std::uint64_t target) noexcept {
  CodeBytes code(&module, target);
  int at = code.has(0, 0xf3, 0x0f) && code.has(2, 0x1e, 0xfa) ? 4 : 0;
  if (code.at(at) == 0xf2) ++at;
  if (!code.has(at, 0xff, 0x25)) return target;
  const std::uint64_t slot =
      target + static_cast<std::uint64_t>(at + 6) + static_cast<std::uint64_t>(code.number(at + 2, 4));
  if (slot < module.begin || slot > module.end - 8 || slot % 8 != 0 || !page_is_readable(slot)) return target;
  return load_as<std::uint64_t>(slot);
}

// The C library says where its function for that has the interrupted registers.
bool knows_signal_return(const CodeModule* /*module*/, std::uint64_t /*pc*/, Rule& /*rule*/) noexcept {
  return false;
}

}  // namespace culprit::unwind
