// Control flow, linkage stubs and calls of aarch64, from the instructions' fixed fields (Arm ARM, C4.1).
#include "machine/aarch64/flow.hpp"
#include "structure/aarch64/words.hpp"
#include "structure/aarch64_code.hpp"

#include <algorithm>

namespace culprit::structure::aarch64 {
namespace {

using Kind = machine::aarch64::Flow::Kind;

Instruction::Flow flow_of(Kind kind) {
  switch (kind) {
    case Kind::call:
      return Instruction::Flow::call;
    case Kind::branch:
      return Instruction::Flow::branch;
    case Kind::jump:
      return Instruction::Flow::jump;
    case Kind::computed:
      return Instruction::Flow::computed;
    case Kind::ret:
    case Kind::trap:
      return Instruction::Flow::end;
    default:
      return Instruction::Flow::next;
  }
}

}  // namespace

std::vector<Instruction> decode(const Module& module, Range range) {
  std::vector<Instruction> out;
  const std::uint64_t low = (range.low + kWord - 1) / kWord * kWord;
  auto code = module.bytes(low);
  code = code.first(std::min<std::size_t>(code.size(), range.high > low ? range.high - low : 0));
  out.reserve(code.size() / kWord);
  for (std::size_t at = 0; at + kWord <= code.size(); at += kWord) {
    const machine::aarch64::Flow flow = machine::aarch64::flow_of(word_in(code, at));
    Instruction next{.address = low + at, .target = 0, .length = kWord, .flow = flow_of(flow.kind)};
    if (flow.direct) next.target = next.address + static_cast<std::uint64_t>(flow.distance);
    out.push_back(next);
  }
  return out;
}

std::uint64_t stub_size(std::span<const std::byte> table) {
  constexpr std::uint64_t kPlain = 16, kProtected = 24;
  constexpr std::uint32_t kLandingPad = 0xd503245f;  // bti c
  const bool marked = table.size() >= kStubHead + kWord && word_in(table, kStubHead) == kLandingPad;
  return marked ? kProtected : kPlain;
}

std::uint64_t slot_of(const Module& module, Range stub) {
  std::uint64_t page = 0;
  for (std::uint64_t at = stub.low; at + kWord <= stub.high; at += kWord) {
    const std::uint32_t word = word_at(module, at);
    if (is_adrp(word)) page = adrp_of(word, at);
    if (page != 0 && (word & 0xffc00000U) == 0xf9400000U)  // ldr x, [x, distance in words of 8 bytes]
      return page + std::uint64_t{word >> 10U & 0xfffU} * 8;
  }
  return 0;
}

std::uint64_t callee_before(const Module& module, std::uint64_t address) {
  if (address < kWord || address % kWord != 0) return 0;
  const machine::aarch64::Flow flow = machine::aarch64::flow_of(word_at(module, address - kWord));
  if (flow.kind != Kind::call || !flow.direct) return 0;
  return address - kWord + static_cast<std::uint64_t>(flow.distance);
}

}  // namespace culprit::structure::aarch64
