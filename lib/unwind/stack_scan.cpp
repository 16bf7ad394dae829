// The last resort of a walk: the nearest word within 1 KiB of stack that is a return address and from which
// call-frame information alone leads to the thread's first frame. Where the call before it names a target,
// that must be the code in question, at most 64 KiB before the pc and without a description; PLT stubs are
// followed. That distinguishes it from what earlier calls left on the stack.
#include "unwind/stack_scan.hpp"

#include "unwind/byte_cursor.hpp"
#include "unwind/call_frame.hpp"
#include "unwind/code_bytes.hpp"

namespace culprit::unwind {

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
