#pragma once

#include <array>
#include <cstdint>

#include <sys/user.h>

namespace culprit::machine {

// The registers of a thread that is stopped by ptrace, NT_PRSTATUS.

/// Whether a call that was broken off by the stop can be made to begin again: who cannot must not stop
/// threads. The kernel has overwritten the call's first argument with the result, and decided, before it
/// stops the thread.
inline constexpr bool kCallsBeginAgain = false;

inline std::uint64_t stopped_pc(const user_regs_struct& all) {
  return all.pc;
}
inline std::uint64_t stopped_sp(const user_regs_struct& all) {
  return all.sp;
}
/// What a system call has returned.
inline std::int64_t stopped_result(const user_regs_struct& all) {
  return static_cast<std::int64_t>(all.regs[0]);
}
inline void set_stopped_result(user_regs_struct& all, std::int64_t result) {
  all.regs[0] = static_cast<unsigned long long>(result);
}
/// The system call that the thread is in, or was.
inline std::uint64_t stopped_call(const user_regs_struct& all) {
  return all.regs[8];
}

/// Those that stay the same in a thread that has not run, also where its call begins again.
inline auto lasting_registers(const user_regs_struct& all) {
  return std::array{all.pc,       all.sp,       all.regs[19], all.regs[20], all.regs[21],
                    all.regs[22], all.regs[23], all.regs[24], all.regs[25], all.regs[26],
                    all.regs[27], all.regs[28], all.regs[29]};
}

/// In libunwind's order: x0 to x30, sp, pc.
inline std::array<std::uint64_t, 33> numbered_registers(const user_regs_struct& all) {
  std::array<std::uint64_t, 33> numbered{};
  for (std::size_t i = 0; i < 31; ++i) numbered[i] = all.regs[i];
  numbered[31] = all.sp;
  numbered[32] = all.pc;
  return numbered;
}

/// Whether a system call ends somewhere in these eight bytes of code, which lie before the pc.
inline bool holds_system_call(std::uint64_t code) {
  constexpr std::uint64_t kSystemCall = 0xd4000001;  // svc #0
  return (code & 0xffffffffU) == kSystemCall || code >> 32U == kSystemCall;
}

/// Goes from a function that has not changed its frame to its caller.
template <typename Load>
bool leave_bare_function(user_regs_struct& all, Load /*load*/) {
  all.pc = all.regs[30];
  return true;
}

}  // namespace culprit::machine
