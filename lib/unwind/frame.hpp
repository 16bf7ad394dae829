#pragma once

#include <cstddef>
#include <cstdint>

namespace culprit::unwind {

enum class FrameOrigin : std::uint8_t {
  leaf,         ///< innermost: pc is exact
  call,         ///< pc is a return address
  interrupted,  ///< reached through a signal frame: pc is exact
};

/// One frame of a walk, innermost first. One cache line: a handler runs with cold caches, and looks at few
/// frames.
struct alignas(64) Frame {
  static constexpr std::uint32_t kNoModule = 0xffffffff;

  std::uint64_t pc = 0;  ///< as found (a return address is not yet minus one)
  std::uint64_t cfa =
      0;  ///< where the caller's stack begins; in the last frame of a partial walk, its own sp
  std::uint64_t offset = 0;  ///< pc (minus one for origin call) as an ELF virtual address of its module
  std::uint32_t module = 0;  ///< CodeModule::index, or kNoModule (offset is then a run-time address)
  FrameOrigin origin = FrameOrigin::call;
  bool own = false;
  bool bridged = false;   ///< its caller was found by a fallback, not by call-frame information
  std::uint8_t need = 0;  ///< the walker's: Step's bits from here outwards
  std::uint64_t sp = 0;   ///< the registers on arrival in this frame
  std::uint64_t bp = 0;
  std::uint64_t bx = 0;
  std::uint32_t checks = 0;  ///< the walker's: how many slots this frame and those outside of it depend on
  std::uint32_t user =
      0;  ///< the caller's (the runtime keeps its tree node here); survives with a reused frame
};
static_assert(sizeof(Frame) == 64);

enum class WalkEnd : std::uint8_t {
  root,      ///< reached the thread's first frame (undefined return address, or a return address of 0)
  partial,   ///< stopped earlier: no rule, or a value out of bounds
  too_deep,  ///< stopped earlier: the walk took Walker::kMaxSteps steps
};

/// Frames of a deep path that were left out, and what stands for them.
struct Gap {
  std::size_t begin = 0, end = 0;  ///< Walk::frames[begin, end) are no part of the path: the walker's own
  std::size_t frames = 0;          ///< how many were left out

  /// Whether frames[i] stands in the gap.
  [[nodiscard]] bool holds(std::size_t i) const noexcept { return i >= begin && i < end; }
};

struct Walk {
  const Frame* frames =
      nullptr;            ///< innermost first; valid until the next walk; writable through mutable_frames()
  std::size_t depth = 0;  ///< entries of `frames`, those in the gap included
  std::size_t fresh = 0;  ///< frames[0, fresh) were walked now; frames[fresh, depth) are reused from the last
                          ///< walk unchanged, `user` included. 0: nothing has changed at all
  WalkEnd end = WalkEnd::partial;
  bool bridged = false;  ///< some frame of the path is
  Gap gap;               ///< empty unless the path is deeper than Walker::kMaxDepth
};

}  // namespace culprit::unwind
