#pragma once

#include <cstdint>

#include <sys/user.h>
#include <ucontext.h>

namespace culprit::machine {

/// What a walk of the stack starts from: the registers that nearly every call-frame rule uses.
struct Place {
  std::uint64_t pc = 0, sp = 0;
  std::uint64_t frame = 0;  ///< the frame pointer, rbp
  std::uint64_t third = 0;  ///< rbx
};

/// As a signal's handler gets them in its third argument.
inline Place interrupted_place(const void* context) noexcept {
  const auto& general = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return {.pc = static_cast<std::uint64_t>(general[REG_RIP]),
          .sp = static_cast<std::uint64_t>(general[REG_RSP]),
          .frame = static_cast<std::uint64_t>(general[REG_RBP]),
          .third = static_cast<std::uint64_t>(general[REG_RBX])};
}

/// The same here and now.
[[gnu::always_inline]] inline Place place_here() noexcept {
  Place here;
  __asm__ volatile(
      "leaq 0(%%rip), %0\n\t"
      "movq %%rsp, %1\n\t"
      "movq %%rbp, %2\n\t"
      "movq %%rbx, %3"
      : "=&r"(here.pc), "=m"(here.sp), "=m"(here.frame), "=m"(here.third));
  return here;
}

/// Calls set(value) with the registers of a context in the order of their DWARF numbers, the pc last.
template <typename Set>
inline void each_interrupted_register(const void* context, Set set) noexcept {
  constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                            REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  const auto& general = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  for (const int which : kOrder) set(static_cast<std::uint64_t>(general[which]));
}

/// The first argument of the function or system call that a signal interrupted, where nothing has overwritten
/// it.
inline std::uint64_t first_argument(const void* context) noexcept {
  return static_cast<std::uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RDI]);
}

// What a signal interrupted, as the kernel left it in the registers: the instruction of a system call has its
// return address in rcx.

/// True if the interrupted code is a system call that starts over when the handler returns: the kernel has
/// put the program counter back onto the two bytes of the instruction.
inline bool starts_over(const void* context) noexcept {
  constexpr greg_t kSystemCallSize = 2;
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return registers[REG_RCX] == registers[REG_RIP] + kSystemCallSize;
}

/// The number of a system call that starts over.
inline long system_call_number(const void* context) noexcept {
  return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX];
}

/// What a system call returned at whose end a signal came: the kernel has left its result.
inline std::uint64_t system_call_result(const void* context) noexcept {
  return static_cast<std::uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX]);
}

/// True if it is a system call, which starts over or was broken off.
inline bool in_system_call(const void* context) noexcept {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return registers[REG_RCX] == registers[REG_RIP] || starts_over(context);
}

}  // namespace culprit::machine
