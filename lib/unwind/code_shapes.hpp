#pragma once

#include "unwind/code_bytes.hpp"
#include "unwind/rule.hpp"

#include <cstdint>

// What is known by the instructions themselves where no call-frame information says it, one implementation
// per processor. Async-signal-safe.
namespace culprit::unwind {

/// Bytes that a PLT stub has pushed when it is about to execute `pc`, below the return address; -1: this is
/// no PLT stub, or what it does is found by following it.
int plt_stub_pushed(const CodeModule& module, std::uint64_t pc) noexcept;

/// Whether a call instruction ends at code.address().
bool follows_call(CodeBytes& code) noexcept;

/// The same for a call that names where it leads: `target`.
bool names_callee(CodeBytes& code, std::uint64_t& target) noexcept;

/// Where code at `target` really leads: through a PLT stub to what is bound, where it is one.
std::uint64_t through_stub(const CodeModule& module, std::uint64_t target) noexcept;

/// The rule of the code that a signal's handler returns to, at or just before `pc`; on processors whose
/// kernel describes it by nothing else. `module` null: none is known. False: it is other code.
bool knows_signal_return(const CodeModule* module, std::uint64_t pc, Rule& rule) noexcept;

}  // namespace culprit::unwind
