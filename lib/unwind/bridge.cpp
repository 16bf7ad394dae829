// Steps out of code without call-frame information (docs/algorithms.md 14): by the shape of a PLT stub, by
// following the code to its return (way_out.cpp), then along the frame-pointer chain. Believed is only what
// follows a call instruction. Such frames are marked as bridged.
#include "unwind/bridge.hpp"

#include "unwind/byte_cursor.hpp"
#include "unwind/call_frame.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/way_out.hpp"

namespace culprit::unwind {

namespace {

// FF /2, the indirect call, with its length by ModRM (and SIB), ending at the address.
bool indirect_call_before(CodeBytes& code) noexcept {
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
  bridge = {.return_slot = bp + 8, .bp_slot = bp, .cfa = bp + 16, .uses_bp = true, .opaque = false};
  return true;
}

// What the code itself will do in order to return.
bool along_code(const BridgeStart& start, FindModule find, void* context, StackBounds& bounds,
                Bridge& bridge) noexcept {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const bool take_branches = attempt == 1;
    WayOut way;
    if (!find_way_out({start.module, start.pc, start.sp, start.bp}, bounds, take_branches, way)) continue;
    const auto back = load_as<std::uint64_t>(way.return_slot);
    if (!is_return_address(back, find, context)) continue;
    bridge = {.return_slot = way.return_slot,
              .bp_slot = way.bp_slot,
              .cfa = way.return_slot + 8,
              .uses_bp = way.uses_bp,
              .opaque = way.uses_loads};
    return true;
  }
  return false;
}

}  // namespace

int plt_stub_pushed(const CodeModule& module, std::uint64_t pc) noexcept {
  CodeBytes code(&module, pc);
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
  CodeBytes code(&module, address);
  return code.at(-5) == 0xe8 || indirect_call_before(code);
}

bool bridge_frame(const BridgeStart& start, FindModule find, void* context, StackBounds& bounds,
                  Bridge& bridge) noexcept {
  if (start.exact && start.module != nullptr) {
    const int pushed = plt_stub_pushed(*start.module, start.pc);
    const std::uint64_t slot = start.sp + static_cast<std::uint64_t>(pushed);
    if (pushed >= 0 && bounds.below_end(slot)) {
      bridge = {.return_slot = slot, .bp_slot = 0, .cfa = slot + 8, .uses_bp = false, .opaque = false};
      return true;
    }
  }
  return along_code(start, find, context, bounds, bridge) ||
         along_frame_pointer(start, find, context, bounds, bridge);
}

// The last resort of a walk: the nearest word within 1 KiB of stack that is a return address and from which
// call-frame information alone leads to the thread's first frame. Where the call before it names a target,
// that must be the code in question, at most 64 KiB before the pc and without a description; PLT stubs are
// followed. That distinguishes it from what earlier calls left on the stack.

namespace {

constexpr unsigned kMaxWords = 128;        // 1 KiB: hand-written code has small frames, and a scan must end
constexpr std::uint64_t kReach = 1 << 16;  // a function without a description is taken to be no longer

/// Where code at `target` really leads: through a PLT stub ([endbr64] [bnd] jmp *slot(%rip)) to what is
/// bound.
std::uint64_t through_stub(const CodeModule& module, std::uint64_t target) noexcept {
  CodeBytes code(&module, target);
  int at = code.has(0, 0xf3, 0x0f) && code.has(2, 0x1e, 0xfa) ? 4 : 0;
  if (code.at(at) == 0xf2) ++at;
  if (!code.has(at, 0xff, 0x25)) return target;
  const std::uint64_t slot =
      target + static_cast<std::uint64_t>(at + 6) + static_cast<std::uint64_t>(code.number(at + 2, 4));
  if (slot < module.begin || slot > module.end - 8 || slot % 8 != 0 || !page_is_readable(slot)) return target;
  return load_as<std::uint64_t>(slot);
}

/// Whether the call before `back` can have led to `pc`.
bool may_have_called(std::uint64_t back, std::uint64_t pc, FindModule find, void* context) noexcept {
  CodeModule caller;
  if (!find(context, back - 1, caller)) return false;
  CodeBytes code(&caller, back);
  if (code.at(-5) != 0xe8) return true;  // indirect
  const std::uint64_t target = through_stub(caller, back + static_cast<std::uint64_t>(code.number(-4, 4)));
  if (target > pc || pc - target > kReach) return false;
  CodeModule callee;
  FrameDescription described;
  return find(context, target, callee) && !find_description(callee, target, described);
}

}  // namespace

bool scan_stack(const BridgeStart& start, FindModule find, void* context, StackBounds& bounds,
                OnwardWalk& onward, Bridge& bridge) noexcept {
  if (start.sp % 8 != 0) return false;
  for (unsigned i = 0; i < kMaxWords; ++i) {
    const std::uint64_t slot = start.sp + std::uint64_t{i} * 8;
    if (!bounds.below_end(slot)) return false;
    const auto back = load_as<std::uint64_t>(slot);
    if (!is_return_address(back, find, context) || !may_have_called(back, start.pc, find, context)) continue;
    if (!onward.reaches_root(back, slot + 8)) continue;
    bridge = {.return_slot = slot, .bp_slot = 0, .cfa = slot + 8, .uses_bp = true, .opaque = true};
    return true;
  }
  return false;
}

}  // namespace culprit::unwind
