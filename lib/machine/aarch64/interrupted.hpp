#pragma once

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

/// Whether the instruction at `pc` is a system call.
inline bool is_system_call(std::uint64_t pc) noexcept {
  constexpr std::uint32_t kCall = 0xd4000001;  // svc #0
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

/// True if it is a system call, which starts over or was broken off.
inline bool in_system_call(const void* context) noexcept {
  const std::uint64_t pc = static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
  constexpr std::uint64_t kPage = 4096;  // what lies before the first instruction of one may not be readable
  return is_system_call(pc) || (pc % kPage != 0 && is_system_call(pc - 4));
}

}  // namespace culprit::machine
