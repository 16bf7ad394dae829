#pragma once

#include <cstdint>

namespace culprit::structure {

/// One instruction, as far as control flow is concerned.
struct Instruction {
  enum class Flow : std::uint8_t {
    next,      ///< execution goes on behind it
    call,      ///< likewise, if the callee returns
    branch,    ///< to `target` or behind it
    jump,      ///< to `target`
    computed,  ///< to where a register or memory says
    end,       ///< return, trap or undecodable byte
  };
  std::uint64_t address = 0;
  std::uint64_t target = 0;  ///< of branch, jump and direct call; 0 where there is none
  std::uint8_t length = 1;
  Flow flow = Flow::next;
  [[nodiscard]] std::uint64_t end() const { return address + length; }
};

}  // namespace culprit::structure
