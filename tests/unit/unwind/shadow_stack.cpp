#include "shadow_stack.hpp"

#include "unwind/byte_cursor.hpp"

#include <ucontext.h>

namespace culprit::unwind::testing {

ForeignStack foreign_stacks[kMaxForeignStacks];
std::uint64_t coroutine_end = 0;

void register_foreign_stack(const void* low, std::size_t size) {
  const auto begin = reinterpret_cast<std::uint64_t>(low);
  for (ForeignStack& stack : foreign_stacks) {
    if (stack.low == begin) return;
    if (stack.low != 0) continue;
    stack = {.low = begin, .high = begin + size};
    return;
  }
}

Transfer transfer_at(std::uint64_t pc) {
  const auto byte = [&pc](unsigned offset) { return load_as<std::uint8_t>(pc + offset); };
  for (;; ++pc) {  // prefixes: segments (notrack), operand size, repeat (bnd)
    const unsigned first = byte(0);
    const bool prefix = first == 0x26 || first == 0x2e || first == 0x36 || first == 0x3e || first == 0x64 ||
                        first == 0x65 || first == 0x66 || first == 0x67 || first == 0xf2 || first == 0xf3;
    if (!prefix) break;
  }
  if ((byte(0) & 0xf0U) == 0x40) ++pc;
  const unsigned code = byte(0);
  const unsigned operation = byte(1) >> 3U & 7U;
  if (code == 0xe8) return Transfer::call;
  if (code == 0xff) {
    if (operation == 2) return Transfer::call;
    if (operation == 4 && byte(1) >> 6U == 3) return Transfer::jump_register;
    return operation == 6 ? Transfer::push : Transfer::none;
  }
  if (code == 0xc3 || code == 0xc2) return Transfer::ret;
  if (code >= 0x50 && code <= 0x57) return Transfer::push;
  if (code >= 0x58 && code <= 0x5f) return Transfer::pop;
  if (code == 0xcc) return Transfer::trap;
  return code == 0x0f && byte(1) == 0x05 ? Transfer::system_call : Transfer::none;
}

std::size_t ShadowStack::stack_of(std::uint64_t sp) {
  for (std::size_t i = 0; i < kMaxForeignStacks; ++i) {
    if (sp >= foreign_stacks[i].low && sp < foreign_stacks[i].high) return i + 1;
  }
  return 0;
}

void ShadowStack::begin(const ThreadState& state, bool whole) {
  for (Stack& stack : stacks_) stack.count = 0;
  base_ = whole ? ~std::uint64_t{0} : state.rsp;
  whole_ = whole;
  handler_expected_ = false;
}

void ShadowStack::resume(const ThreadState& now) {
  handler_expected_ = false;
  if (whole_) {
    drop_below(now.rsp);
  } else {
    begin(now, false);
  }
}

void ShadowStack::push(std::uint64_t slot, bool interruption) {
  Stack& stack = stacks_[stack_of(slot)];
  while (stack.count != 0 && stack.records[stack.count - 1].slot <= slot) --stack.count;
  if (stack.count == kMaxRecords) return;
  stack.records[stack.count++] = {.slot = slot, .address = 0, .lifted = false, .interruption = interruption};
}

void ShadowStack::drop_below(std::uint64_t sp) {
  const std::size_t which = stack_of(sp);
  Stack& stack = stacks_[which];
  while (stack.count != 0) {
    const Record& top = stack.records[stack.count - 1];
    if (top.slot >= sp || (top.lifted && top.slot == sp - 8)) break;
    --stack.count;
  }
  // Back in the caller of all that was seen: its own frames are known from here on if it is the first.
  if (which == 0 && sp > base_ && !whole_) base_ = sp;
}

// The kernel has built a frame: the restorer's address, then the context of what it interrupted.
bool ShadowStack::enter_handler(const ThreadState& before, const ThreadState& now) {
  const auto& context = *reinterpret_cast<const ucontext_t*>(now.rsp + 8);
  if (now.rip == before.rip || now.rsp % 16 != 8) return false;
  if (static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]) != before.rsp) return false;
  push(now.rsp + 8, true);
  push(now.rsp, false);
  return true;
}

void ShadowStack::advance(const ThreadState& before, const ThreadState& now) {
  if (handler_expected_) {
    handler_expected_ = false;
    if (enter_handler(before, now)) return;
  }
  const Transfer transfer = transfer_at(before.rip);
  Stack& stack = stacks_[stack_of(now.rsp)];
  Record* top = stack.count != 0 ? &stack.records[stack.count - 1] : nullptr;
  if (transfer == Transfer::call && now.rsp == before.rsp - 8) {
    push(now.rsp, false);
    return;
  }
  if (transfer == Transfer::pop && top != nullptr && top->slot == before.rsp && !top->interruption) {
    top->lifted = true;
    top->address = load_as<std::uint64_t>(top->slot);
  } else if (transfer == Transfer::push && top != nullptr && top->lifted && now.rsp == top->slot) {
    top->lifted = false;
  } else if (transfer == Transfer::jump_register && top != nullptr && top->lifted &&
             top->address == now.rip) {
    --stack.count;  // a return in two instructions
  }
  const bool returned = top != nullptr && top->slot == before.rsp;
  drop_below(now.rsp);
  // A coroutine begins: its stack was made by hand, with the address to return to in the first word.
  if (transfer == Transfer::ret && !returned && stack.count == 0 && stack_of(now.rsp) != 0)
    push(now.rsp, false);
}

void ShadowStack::truth(const ThreadState& now, Truth& truth) const {
  truth.depth = 0;
  truth.pc[truth.depth++] = now.rip;
  std::uint64_t sp = now.rsp;
  std::size_t which = stack_of(sp);
  std::size_t next = stacks_[which].count;
  while (truth.depth < kMaxFrames && next != 0) {
    const Record& record = stacks_[which].records[--next];
    if (record.slot < sp && !record.lifted) continue;
    if (!record.interruption) {
      truth.pc[truth.depth++] = record.lifted ? record.address : load_as<std::uint64_t>(record.slot);
      continue;
    }
    const auto& registers = reinterpret_cast<const ucontext_t*>(record.slot)->uc_mcontext.gregs;
    truth.pc[truth.depth++] = static_cast<std::uint64_t>(registers[REG_RIP]);
    sp = static_cast<std::uint64_t>(registers[REG_RSP]);
    which = stack_of(sp);
    next = stacks_[which].count;
  }
  truth.whole = whole_ || which != 0;
}

}  // namespace culprit::unwind::testing
