#include "unwind/general_step.hpp"

#include <ucontext.h>

namespace culprit::unwind {

void RegisterFile::set_all(const void* ucontext) noexcept {
  // In the order of DWARF register numbers.
  constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                            REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  known = 0;
  if (ucontext == nullptr) return;
  const auto& general = static_cast<const ucontext_t*>(ucontext)->uc_mcontext.gregs;
  std::uint8_t number = 0;
  for (const int which : kOrder) set(number++, static_cast<std::uint64_t>(general[which]));
}

}  // namespace culprit::unwind
