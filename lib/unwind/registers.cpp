#include "unwind/walker.hpp"

#include <ucontext.h>

namespace culprit::unwind {

Registers registers_of(const void* ucontext) noexcept {
  // In the order of DWARF register numbers.
  constexpr int kOrder[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  const auto& general = static_cast<const ucontext_t*>(ucontext)->uc_mcontext.gregs;
  Registers registers;
  for (unsigned i = 0; i < 16; ++i) registers.others[i] = static_cast<std::uint64_t>(general[kOrder[i]]);
  registers.pc = static_cast<std::uint64_t>(general[REG_RIP]);
  registers.sp = registers.others[kRsp];
  registers.bp = registers.others[kRbp];
  registers.bx = registers.others[kRbx];
  return registers;
}

}  // namespace culprit::unwind
