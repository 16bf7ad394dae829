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
  root,     ///< reached the thread's first frame (undefined return address, or a return address of 0)
  partial,  ///< stopped earlier: no rule, a value out of bounds, or the depth limit
};

struct Walk {
  const Frame* frames =
      nullptr;  ///< innermost first; valid until the next walk; writable through mutable_frames()
  std::size_t depth = 0;
  std::size_t fresh = 0;  ///< frames[0, fresh) were walked now; frames[fresh, depth) are reused from the last
                          ///< walk unchanged, `user` included. 0: nothing has changed at all
  WalkEnd end = WalkEnd::partial;
  bool bridged = false;  ///< some frame of the path is
};

}  // namespace culprit::unwind
