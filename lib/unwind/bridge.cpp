#include "unwind/bridge.hpp"

#include "unwind/byte_cursor.hpp"

namespace culprit::unwind {

namespace {

// Code bytes around an address, as far as they lie in its page and module: the next page may not be mapped.
class Code {
 public:
  Code(const CodeModule& module, std::uint64_t address) noexcept : address_(address) {
    const std::uint64_t page = address & ~(StackBounds::kPage - 1);
    begin_ = page > module.begin ? page : module.begin;
    end_ = page + StackBounds::kPage < module.end ? page + StackBounds::kPage : module.end;
  }

  /// The byte at address + offset, or -1.
  [[nodiscard]] int at(int offset) const noexcept {
    const std::uint64_t place = address_ + static_cast<std::uint64_t>(std::int64_t{offset});
    return place >= begin_ && place < end_ ? load_as<std::uint8_t>(place) : -1;
  }

  [[nodiscard]] bool has(int offset, int first, int second) const noexcept {
    return at(offset) == first && at(offset + 1) == second;
  }

 private:
  std::uint64_t address_;
  std::uint64_t begin_, end_;
};

// FF /2, the indirect call, with its length by ModRM (and SIB), ending at the address.
bool indirect_call_before(const Code& code) noexcept {
  for (int length = 2; length <= 7; ++length) {
    if (code.at(-length) != 0xff) continue;
    const int modrm = code.at(1 - length);
    if ((modrm >> 3 & 7) != 2) continue;
    const int mod = modrm >> 6;
    const int rm = modrm & 7;
    int expected = 2;
    if (mod != 3 && rm == 4) ++expected;
    if (mod == 1) expected += 1;
    if (mod == 2 || (mod == 0 && rm == 5)) expected += 4;
    if (mod == 0 && rm == 4 && (code.at(2 - length) & 7) == 5) expected += 4;
    if (expected == length) return true;
  }
  return false;
}

bool along_frame_pointer(const BridgeStart& start, FindModule find, void* context, StackBounds& bounds,
                         Bridge& bridge) noexcept {
  const std::uint64_t bp = start.bp;
  if (bp < start.sp || bp % 8 != 0 || bp > ~std::uint64_t{0} - 16) return false;
  if (!bounds.below_end(bp) || !bounds.below_end(bp + 8)) return false;
  const auto outer = load_as<std::uint64_t>(bp);
  const auto back = load_as<std::uint64_t>(bp + 8);
  if (outer != 0 && outer <= bp) return false;
  if (back != 0 && !is_return_address(back, find, context)) return false;
  bridge = {.return_slot = bp + 8, .bp_slot = bp, .cfa = bp + 16};
  return true;
}

}  // namespace

int plt_stub_pushed(const CodeModule& module, std::uint64_t pc) noexcept {
  const Code code(module, pc);
  const bool jumps = code.has(0, 0xff, 0x25) || code.has(0, 0xf2, 0xff);  // [bnd] jmp *slot(%rip)
  if (jumps && code.has(-6, 0xff, 0x35)) return 16;  // the first entry: module and index pushed
  if (code.has(0, 0xff, 0x35)) return 8;             // the first entry: index pushed
  if (jumps) return 0;
  const bool pushes = code.at(0) == 0x68;  // push $index; jmp first entry
  if (pushes && (code.at(5) == 0xe9 || code.has(5, 0xf2, 0xe9))) return 0;
  const bool leaves = code.at(0) == 0xe9 || code.has(0, 0xf2, 0xe9);
  if (leaves && code.at(-5) == 0x68) return 8;
  const bool marked = code.has(0, 0xf3, 0x0f) && code.has(2, 0x1e, 0xfa);  // endbr64 before any of these
  if (marked && (code.has(4, 0xff, 0x25) || code.has(4, 0xf2, 0xff) || code.at(4) == 0x68)) return 0;
  return -1;
}

bool is_return_address(std::uint64_t address, FindModule find, void* context) noexcept {
  CodeModule module;
  if (address < StackBounds::kPage || !find(context, address - 1, module)) return false;
  if (!page_is_readable(address - 1)) return false;  // a gap between the module's segments
  const Code code(module, address - 1);
  // Code() is bounded by the page of the call's last byte; an instruction across a page boundary goes
  // unrecognized.
  const Code after(module, address);
  const bool same_page = ((address - 1) ^ address) < StackBounds::kPage;
  if (code.at(-4) == 0xe8) return true;
  return same_page && indirect_call_before(after);
}

bool bridge_frame(const BridgeStart& start, FindModule find, void* context, StackBounds& bounds,
                  Bridge& bridge) noexcept {
  if (start.exact && start.module != nullptr) {
    const int pushed = plt_stub_pushed(*start.module, start.pc);
    const std::uint64_t slot = start.sp + static_cast<std::uint64_t>(pushed);
    if (pushed >= 0 && bounds.below_end(slot)) {
      bridge = {.return_slot = slot, .bp_slot = 0, .cfa = slot + 8};
      return true;
    }
  }
  return along_frame_pointer(start, find, context, bounds, bridge);
}

}  // namespace culprit::unwind
