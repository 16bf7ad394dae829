// Control flow, linkage stubs and calls of aarch64, from the instructions' fixed fields (Arm ARM, C4.1).
#include "machine/aarch64/flow.hpp"
#include "structure/aarch64/words.hpp"
#include "structure/aarch64_code.hpp"

#include <algorithm>

namespace culprit::structure::aarch64 {
namespace {

using Kind = machine::aarch64::Flow::Kind;

constexpr std::uint32_t kNothing = 0xd503201f;  // nop

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
    if (page != 0 && is_load_distant(word)) return page + distance_of(word);
  }
  return 0;
}

std::uint64_t callee_before(const Module& module, std::uint64_t address) {
  if (address < kWord || address % kWord != 0) return 0;
  const machine::aarch64::Flow flow = machine::aarch64::flow_of(word_at(module, address - kWord));
  if (flow.kind != Kind::call || !flow.direct) return 0;
  return address - kWord + static_cast<std::uint64_t>(flow.distance);
}

namespace {

/// Whether all the instruction does is to set a register to a number or to another register, if anything.
bool sets_argument(std::uint32_t word) {
  const bool landing_pad = (word & 0xffffff3fU) == 0xd503241fU;        // bti
  const bool number = (word & 0x1f800000U) == 0x12800000U;             // movn, movz, movk
  const bool between_registers = (word & 0x7fe0ffe0U) == 0x2a0003e0U;  // mov, which is orr
  return landing_pad || word == kNothing || number || between_registers;
}

constexpr int kStartCode = 32;  // instructions; glibc's start code has about thirteen

}  // namespace

std::uint64_t jump_target(const Module& module, std::uint64_t address) {
  const machine::aarch64::Flow flow = machine::aarch64::flow_of(word_at(module, address));
  return flow.kind == Kind::jump ? address + static_cast<std::uint64_t>(flow.distance) : 0;
}

bool calls_system(const Module& module, std::uint64_t address) {
  return (word_at(module, address) & 0xffe0001fU) == 0xd4000001U;  // svc
}

std::uint64_t forwards_to(const Module& module, std::uint64_t address, std::uint64_t end) {
  for (; address < end; address += kWord) {
    if (!sets_argument(word_at(module, address))) return jump_target(module, address);
  }
  return 0;
}

std::uint64_t main_of(const Module& module, std::uint64_t start) {
  constexpr std::uint32_t kFirstArgument = 0;  // x0
  std::uint64_t found = 0;
  bool wrapped = false;  // of programs at a fixed address, by a function that only jumps to it
  for (int i = 0; i < kStartCode; ++i) {
    const std::uint64_t address = start + static_cast<std::uint64_t>(i) * kWord;
    const std::uint32_t word = word_at(module, address);
    if (machine::aarch64::flow_of(word).kind == Kind::call) break;
    if ((word & 31U) != kFirstArgument) continue;
    if (is_adrp(word)) found = adrp_of(word, address);
    if (is_load_distant(word)) found = module.pointer(found + distance_of(word));
    if (is_add_low(word)) found += distance_of(word);
    wrapped = is_add_low(word);
  }
  if (!module.executable(found)) return 0;
  const std::uint64_t behind = wrapped ? forwards_to(module, found, found + 4 * kWord) : 0;
  return behind != 0 && module.executable(behind) ? behind : found;
}

}  // namespace culprit::structure::aarch64
