// Steps out of code without call-frame information (docs/algorithms.md 14): by the shape of a PLT stub, by
// following the code to its return (way_out.cpp), then along the frame-pointer chain. Believed is only what
// follows a call instruction. Such frames are marked as bridged.
#include "unwind/bridge.hpp"

#include "unwind/byte_cursor.hpp"
#include "unwind/call_frame.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/code_shapes.hpp"
#include "unwind/way_out.hpp"

namespace culprit::unwind {

namespace {

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
    if (!find_way_out({start.module, start.pc, start.sp, start.bp, start.exact}, bounds, take_branches, way))
      continue;
    const std::uint64_t back = way.return_slot != 0 ? load_as<std::uint64_t>(way.return_slot) : start.link;
    if (!is_return_address(back & machine::This::kAddressMask, find, context)) continue;
    bridge = {.return_slot = way.return_slot,
              .bp_slot = way.bp_slot,
              .cfa = way.cfa,
              .uses_bp = way.uses_bp,
              .opaque = way.uses_loads};
    return true;
  }
  return false;
}

}  // namespace

bool is_return_address(std::uint64_t address, FindModule find, void* context) noexcept {
  CodeModule module;
  if (address < StackBounds::kPage || !find(context, address - 1, module)) return false;
  CodeBytes code(&module, address);
  return follows_call(code);
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
  if (along_code(start, find, context, bounds, bridge)) return true;
  // Where a frame's record lies at its bottom, its end is not known.
  return !machine::This::kReturnsByRegister && along_frame_pointer(start, find, context, bounds, bridge);
}

// The last resort of a walk: the nearest word within 1 KiB of stack that is a return address and from which
// call-frame information alone leads to the thread's first frame. Where the call before it names a target,
// that must be the code in question, at most 64 KiB before the pc and without a description; PLT stubs are
// followed. That distinguishes it from what earlier calls left on the stack.

namespace {

constexpr unsigned kMaxWords = 128;        // 1 KiB: hand-written code has small frames, and a scan must end
constexpr std::uint64_t kReach = 1 << 16;  // a function without a description is taken to be no longer

/// Whether the call before `back` can have led to `pc`.
bool may_have_called(std::uint64_t back, std::uint64_t pc, FindModule find, void* context) noexcept {
  CodeModule caller;
  if (!find(context, back - 1, caller)) return false;
  CodeBytes code(&caller, back);
  std::uint64_t named = 0;
  if (!names_callee(code, named)) return true;  // indirect
  const std::uint64_t target = through_stub(caller, named);
  if (target > pc || pc - target > kReach) return false;
  CodeModule callee;
  FrameDescription described;
  return find(context, target, callee) && !find_description(callee, target, described);
}

}  // namespace

bool scan_stack(const BridgeStart& start, FindModule find, void* context, StackBounds& bounds,
                OnwardWalk& onward, Bridge& bridge) noexcept {
  if (machine::This::kReturnsByRegister || start.sp % 8 != 0) return false;
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
