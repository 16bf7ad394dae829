#pragma once

#include <ucontext.h>

// What a signal interrupted, as the kernel left it in the registers (x86-64): the instruction of a system
// call has its return address in rcx. Async-signal-safe.
namespace culprit::runtime {

/// True if the interrupted code is a system call that starts over when the handler returns: the kernel has
/// put the program counter back onto the two bytes of the instruction.
inline bool starts_over(const void* context) {
  constexpr greg_t kSystemCallSize = 2;
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return registers[REG_RCX] == registers[REG_RIP] + kSystemCallSize;
}

/// True if it is a system call, which starts over or was broken off.
inline bool in_system_call(const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return registers[REG_RCX] == registers[REG_RIP] || starts_over(context);
}

}  // namespace culprit::runtime
