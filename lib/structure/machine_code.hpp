#pragma once

#include "structure/module.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <Zydis/Zydis.h>

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

/// An instruction with its operands, for those few that are looked at closely.
struct DetailedInstruction {
  ZydisDecodedInstruction instruction{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};
};

/// Decodes x86-64.
class Decoder {
 public:
  explicit Decoder(const Module& module);
  /// The instructions of `range` one behind the other. Compilers for x86-64 put no data among code; bytes
  /// that do not decode count as instructions of one byte that end the flow.
  [[nodiscard]] std::vector<Instruction> decode(Range range) const;
  /// False where it does not decode.
  bool decode_details(std::uint64_t address, DetailedInstruction& out) const;

 private:
  const Module& module_;
  ZydisDecoder decoder_{};
};

}  // namespace culprit::structure
