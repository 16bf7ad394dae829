#pragma once

#include "structure/module.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <Zydis/Zydis.h>

namespace culprit::structure {

/// An instruction with its operands, for those few that are looked at closely.
struct DetailedInstruction {
  ZydisDecodedInstruction instruction{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};
};

/// Decodes x86-64; of aarch64, control flow alone (aarch64_code.hpp).
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

/// Whom the direct call names that returns to `address`; 0 where no such call ends there.
std::uint64_t callee_before(const Module& module, std::uint64_t address);

}  // namespace culprit::structure
