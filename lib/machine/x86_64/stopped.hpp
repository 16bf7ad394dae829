#pragma once

#include <array>
#include <cstdint>

#include <sys/user.h>

namespace culprit::machine {

// The registers of a thread that is stopped by ptrace, NT_PRSTATUS.

/// Whether a call that was broken off by the stop can be made to begin again: who cannot must not stop
/// threads.
inline constexpr bool kCallsBeginAgain = true;

inline std::uint64_t stopped_pc(const user_regs_struct& all) {
  return all.rip;
}
inline std::uint64_t stopped_sp(const user_regs_struct& all) {
  return all.rsp;
}
/// What a system call has returned.
inline std::int64_t stopped_result(const user_regs_struct& all) {
  return static_cast<std::int64_t>(all.rax);
}
inline void set_stopped_result(user_regs_struct& all, std::int64_t result) {
  all.rax = static_cast<unsigned long long>(result);
}
/// The system call that the thread is in, or was; a number of none outside of calls.
inline std::uint64_t stopped_call(const user_regs_struct& all) {
  return all.orig_rax;
}

/// Those that stay the same in a thread that has not run, also where its call begins again.
inline auto lasting_registers(const user_regs_struct& all) {
  return std::array{all.rip, all.rsp, all.rbp, all.rbx, all.r12, all.r13, all.r14, all.r15};
}

/// In libunwind's order, which is DWARF's.
inline std::array<std::uint64_t, 17> numbered_registers(const user_regs_struct& all) {
  return {all.rax, all.rdx, all.rcx, all.rbx, all.rsi, all.rdi, all.rbp, all.rsp, all.r8,
          all.r9,  all.r10, all.r11, all.r12, all.r13, all.r14, all.r15, all.rip};
}

/// Whether a system call ends somewhere in these eight bytes of code, which lie before the pc.
inline bool holds_system_call(std::uint64_t code) {
  constexpr std::uint64_t kSystemCall = 0x050f;  // the bytes of the instruction
  for (; code != 0; code >>= 8U)
    if ((code & 0xffffU) == kSystemCall) return true;
  return false;
}

/// Goes from a function that has not changed its frame to its caller, whose address load(slot, word) gives
/// where it lies on the stack. False: it cannot be loaded.
template <typename Load>
bool leave_bare_function(user_regs_struct& all, Load load) {
  std::uint64_t caller = 0;
  if (!load(all.rsp, caller)) return false;
  all.rip = caller;
  all.rsp += sizeof caller;
  return true;
}

}  // namespace culprit::machine
