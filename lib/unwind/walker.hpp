#pragma once

#include <cstddef>
#include <cstdint>

// The call-stack walker: call-frame rules compiled lazily from .eh_frame into a per-thread cache, every stack read
// bounded, and the last walk's outer frames reused by the verified splice. Pure: it learns about modules through a
// callback and reads memory through bounds-checked loads; it neither allocates nor locks, so the runtime may call it
// from a signal handler. x86-64 behind this one header.
namespace culprit::unwind {

/// Registers at the point where the walk starts (from a ucontext), and those that rules need.
struct Registers {
  std::uint64_t pc = 0, sp = 0, bp = 0, bx = 0;
};

/// A mapped load module, as the module callback describes it. `bias` is the run-time address minus the ELF virtual
/// address; `index` is the caller's own number for it.
struct CodeModule {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bias = 0;
  std::uint64_t eh_frame_hdr = 0;  ///< run-time address of .eh_frame_hdr, 0 where there is none
  std::uint32_t index = 0;
  bool own = false;                ///< one of the sampler's own libraries
};

/// Finds the module that maps `pc`. Async-signal-safe. False: no known module.
using FindModule = bool (*)(void* context, std::uint64_t pc, CodeModule& module);

enum class FrameOrigin : std::uint8_t {
  leaf,         ///< innermost: pc is exact
  call,         ///< pc is a return address
  interrupted,  ///< reached through a signal frame: pc is exact
};

/// One frame of a walk, innermost first.
struct Frame {
  std::uint64_t pc = 0;        ///< as found (a return address is not yet minus one)
  std::uint64_t cfa = 0;
  std::uint64_t offset = 0;    ///< pc (minus one for origin call) as an ELF virtual address of its module
  std::uint32_t module = 0;    ///< CodeModule::index, or 0xffffffff
  FrameOrigin origin = FrameOrigin::call;
  bool own = false;
  bool bridged = false;        ///< the rule came from a fallback (frame pointer chain), not from call-frame information
  std::uint32_t user = 0;      ///< the caller's (the runtime keeps its tree node here); survives with a reused frame
};

enum class WalkEnd : std::uint8_t {
  root,     ///< reached the thread's first frame (undefined return address, or the known entry points)
  partial,  ///< stopped earlier: no rule, a value out of bounds, or the depth limit
};

struct Walk {
  const Frame* frames = nullptr;  ///< innermost first; valid until the next walk; writable through mutable_frames()
  std::size_t depth = 0;
  std::size_t fresh = 0;          ///< frames[0, fresh) were walked now; frames[fresh, depth) are reused from the last
                                  ///< walk unchanged, `user` included
  WalkEnd end = WalkEnd::partial;
};

/// A thread's unwinding state: rule cache and last path. Large; the caller provides zeroed memory that does not move
/// (see size()). One thread at a time.
class Walker {
 public:
  static constexpr std::size_t kMaxDepth = 1024;

  /// [stack_low, stack_high) bounds every stack read; a walk that starts outside it (an alternate stack, a coroutine)
  /// derives its own bound and never reads beyond a page run it could verify.
  void reset(FindModule find, void* context, std::uint64_t stack_low, std::uint64_t stack_high) noexcept;

  /// Walks from `start`. Never reads outside the bounds, never faults on a consistent address space.
  Walk walk(const Registers& start) noexcept;

  [[nodiscard]] Frame* mutable_frames() noexcept;

  /// Modules were unloaded: forget rules and the last path (any thread; takes effect at the next walk).
  void invalidate() noexcept;
};

}  // namespace culprit::unwind
