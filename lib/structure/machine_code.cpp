// Instructions by Zydis, as far as control flow is concerned (docs/algorithms.md 15). Cost: one decoding
// each.
#include "structure/machine_code.hpp"

#include "structure/aarch64_code.hpp"

#include <algorithm>
#include <cstring>

namespace culprit::structure {
namespace {

using Flow = Instruction::Flow;

Flow flow_of(const ZydisDecodedInstruction& instruction, bool direct) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return Flow::branch;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return direct ? Flow::jump : Flow::computed;
    case ZYDIS_CATEGORY_CALL:
      return Flow::call;
    case ZYDIS_CATEGORY_RET:
      return Flow::end;
    default:
      break;
  }
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_INT3:
      return Flow::end;
    default:
      return Flow::next;
  }
}

}  // namespace

Decoder::Decoder(const Module& module) : module_(module) {
  ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

std::vector<Instruction> Decoder::decode(Range range) const {
  if (module_.is_aarch64()) return aarch64::decode(module_, range);
  std::vector<Instruction> out;
  auto code = module_.bytes(range.low);
  code = code.first(std::min<std::size_t>(code.size(), range.high - range.low));
  out.reserve(code.size() / 4);
  std::uint64_t address = range.low;
  while (!code.empty()) {
    Instruction next;
    next.address = address;
    ZydisDecodedInstruction decoded;
    if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder_, nullptr, code.data(), code.size(), &decoded))) {
      next.flow = Flow::end;
    } else {
      next.length = decoded.length;
      const auto& immediate = decoded.raw.imm[0];
      const bool direct = immediate.size != 0 && immediate.is_relative;
      next.flow = flow_of(decoded, direct);
      if (direct) next.target = next.end() + immediate.value.u;
    }
    out.push_back(next);
    address += next.length;
    code = code.subspan(next.length);
  }
  return out;
}

bool Decoder::decode_details(std::uint64_t address, DetailedInstruction& out) const {
  const auto code = module_.bytes(address);
  if (code.empty() || !module_.is_x86_64()) return false;
  const std::size_t size = std::min<std::size_t>(code.size(), ZYDIS_MAX_INSTRUCTION_LENGTH);
  return ZYAN_SUCCESS(
      ZydisDecoderDecodeFull(&decoder_, code.data(), size, &out.instruction, out.operands.data()));
}

std::uint64_t callee_before(const Module& module, std::uint64_t address) {
  constexpr std::uint64_t kDirectCall = 5;  // bytes; the last four are the distance
  if (module.is_aarch64()) return aarch64::callee_before(module, address);
  if (!module.is_x86_64() || address < kDirectCall) return 0;
  const auto code = module.bytes(address - kDirectCall);
  if (code.size() < kDirectCall || code[0] != std::byte{0xe8}) return 0;
  std::int32_t distance = 0;
  std::memcpy(&distance, code.data() + 1, sizeof distance);
  return address + static_cast<std::uint64_t>(std::int64_t{distance});
}

}  // namespace culprit::structure
