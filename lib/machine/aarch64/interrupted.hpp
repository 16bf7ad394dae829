#pragma once

#include "machine/aarch64/instructions.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <sys/user.h>
#include <ucontext.h>

namespace culprit::machine {

/// What a walk of the stack starts from: the registers that nearly every call-frame rule uses.
struct Place {
  std::uint64_t pc = 0, sp = 0;
  std::uint64_t frame = 0;  ///< the frame pointer, x29
  std::uint64_t third = 0;  ///< the link register, x30
};

/// As a signal's handler gets them in its third argument.
inline Place interrupted_place(const void* context) noexcept {
  const mcontext_t& general = static_cast<const ucontext_t*>(context)->uc_mcontext;
  return {.pc = general.pc, .sp = general.sp, .frame = general.regs[29], .third = general.regs[30]};
}

/// The same here and now.
[[gnu::always_inline]] inline Place place_here() noexcept {
  Place here;
  __asm__ volatile(
      "adr %0, .\n\t"
      "mov %1, sp\n\t"
      "mov %2, x29\n\t"
      "mov %3, x30"
      : "=&r"(here.pc), "=&r"(here.sp), "=&r"(here.frame), "=&r"(here.third));
  return here;
}

/// Calls set(value) with the registers of a context in the order of their DWARF numbers, the pc last.
template <typename Set>
inline void each_interrupted_register(const void* context, Set set) noexcept {
  const mcontext_t& general = static_cast<const ucontext_t*>(context)->uc_mcontext;
  for (const std::uint64_t value : general.regs) set(value);
  set(general.sp);
  set(general.pc);
}

/// The first argument of the function or system call that a signal interrupted, where nothing has overwritten
/// it.
inline std::uint64_t first_argument(const void* context) noexcept {
  return static_cast<const ucontext_t*>(context)->uc_mcontext.regs[0];
}

// What a signal interrupted, by the instructions there: the registers do not say it.

/// Whether the instruction at `pc` is a system call. Code may be mapped for execution alone: the kernel is
/// asked first, by a call that copies its argument in before it finds that the operation makes no sense.
inline bool is_system_call(std::uint64_t pc) noexcept {
  constexpr std::uint32_t kCall = 0xd4000001;  // svc #0
  constexpr long kNoSuchOperation = -1, kSetSize = 8;
  const auto word = static_cast<long>(pc & ~std::uint64_t{7});
  if (system_call(SYS_rt_sigprocmask, kNoSuchOperation, word, 0, kSetSize) != -EINVAL) return false;
  std::uint32_t instruction = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): registers hold numbers
  std::memcpy(&instruction, reinterpret_cast<const void*>(pc), sizeof instruction);
  return instruction == kCall;
}

/// True if the interrupted code is a system call that starts over when the handler returns: the kernel has
/// put the program counter back onto the instruction.
inline bool starts_over(const void* context) noexcept {
  return is_system_call(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
}

/// The number of a system call that starts over.
inline long system_call_number(const void* context) noexcept {
  return static_cast<long>(static_cast<const ucontext_t*>(context)->uc_mcontext.regs[8]);
}

/// What a system call returned at whose end a signal came: the kernel has left its result.
inline std::uint64_t system_call_result(const void* context) noexcept {
  return static_cast<const ucontext_t*>(context)->uc_mcontext.regs[0];
}

/// True if it is a system call, which starts over or was broken off.
inline bool in_system_call(const void* context) noexcept {
  const std::uint64_t pc = static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
  return is_system_call(pc) || is_system_call(pc - 4);
}

}  // namespace culprit::machine
