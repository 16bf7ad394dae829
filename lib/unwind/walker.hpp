#pragma once

#include "machine/machine.hpp"
#include "unwind/code_bytes.hpp"
#include "unwind/frame.hpp"
#include "unwind/general_step.hpp"
#include "unwind/path.hpp"
#include "unwind/rule_cache.hpp"
#include "unwind/stack_bounds.hpp"

#include <cstddef>
#include <cstdint>

// The call-stack walker: call-frame rules compiled lazily from .eh_frame into a per-thread cache, every stack
// read bounded, and the last walk's outer frames reused by the verified splice. Pure: it learns about modules
// through a callback and reads memory through bounds-checked loads; it neither allocates nor locks, so the
// runtime may call it from a signal handler.
namespace culprit::unwind {

/// Registers at the point where the walk starts. pc, sp, bp (the frame pointer) and bx (x86-64's rbx,
/// aarch64's link register) serve nearly every rule; the others are looked up only for the rare rule that
/// computes the CFA from another register, such as in the prologue of a function that realigns its stack.
/// Without `context` such a walk ends early, as partial.
struct Registers {
  std::uint64_t pc = 0, sp = 0, bp = 0, bx = 0;
  const void* context = nullptr;  ///< ucontext_t with the same and all other registers, or null
};

/// The registers that a signal interrupted. `ucontext` is the handler's third argument.
inline Registers registers_of(const void* ucontext) noexcept {
  const machine::Place place = machine::interrupted_place(ucontext);
  return {.pc = place.pc, .sp = place.sp, .bp = place.frame, .bx = place.third, .context = ucontext};
}

/// The registers here and now, for a walk that starts in the calling function.
[[gnu::always_inline]] inline Registers registers_here() noexcept {
  const machine::Place place = machine::place_here();
  return {.pc = place.pc, .sp = place.sp, .bp = place.frame, .bx = place.third};
}

/// A thread's unwinding state: rule cache and last path. Large (about 700 KiB, touched only as far as used);
/// it lives in zeroed memory that the caller provides, that is aligned to 64 bytes and does not move. One
/// thread at a time, and not reentrant: a handler must not walk with a walker whose walk() it interrupted.
class Walker {
 public:
  /// Deeper paths have a gap.
  static constexpr std::size_t kMaxDepth = Steps::kMaxDepth;
  /// A walk that has reached neither the root nor the last path by then ends as too deep.
  static constexpr std::size_t kMaxSteps = Steps::kMost;

  /// Bytes of memory that a walker needs.
  static constexpr std::size_t size() noexcept;

  /// The walker in zeroed memory of size() bytes, aligned to 64; call reset() before the first walk.
  static Walker* in(void* zeroed_memory) noexcept { return static_cast<Walker*>(zeroed_memory); }

  /// Calls range(begin, size) for each range of memory that walks of usual depth touch: who fills it with
  /// pages beforehand spares them page faults.
  template <typename Range>
  void usual_memory(Range range) noexcept {
    populate(Path::kUsualDepth, this + 1, range);
  }
  /// The same for a thread that does little but wait: few frames, few rules.
  template <typename Range>
  void least_memory(Range range) noexcept {
    const RuleCache::Few few = rules_.few();
    populate(Path::kLeastDepth, few.modules_end, range);
    range(few.rules_begin, distance(few.rules_begin, few.rules_end));
  }

  /// [stack_low, stack_high) bounds every stack read; a walk that starts outside it (an alternate stack, a
  /// coroutine) derives its own bound and never reads beyond a page run it could verify. Forgets rules and
  /// the last path.
  void reset(FindModule find, void* context, std::uint64_t stack_low, std::uint64_t stack_high) noexcept;

  /// Walks from `start`. Never reads outside the bounds, never faults on a consistent address space.
  [[gnu::hot]] Walk walk(const Registers& start) noexcept;

  /// The last walk's frames, for writing `user`.
  [[nodiscard]] Frame* mutable_frames() noexcept { return path_.frames(); }
  /// How many they are.
  [[nodiscard]] std::size_t depth() const noexcept { return path_.depth(); }
  /// Which of them are none of the path.
  [[nodiscard]] Gap gap() const noexcept { return path_.gap(); }

  /// What the last walk depends on.
  [[nodiscard]] Path::Dependence dependence() const noexcept { return path_.dependence(); }

  /// Modules were unloaded: forget rules and the last path (any thread; takes effect at the next walk).
  void invalidate() noexcept { __atomic_store_n(&invalidated_, std::uint32_t{1}, __ATOMIC_RELEASE); }

 private:
  enum class Outcome : std::uint8_t { onward, root, partial, too_deep, spliced, needs_all_registers };
  /// The registers of the frame that the walk looks at.
  struct Position;
  /// A step's result.
  struct Moved;
  /// Whether a guess leads on.
  class Trial;

  /// Calls range() for the memory of walks of `depth` frames, and for all up to `end`.
  template <typename Range>
  void populate(std::size_t depth, const void* end, Range range) noexcept {
    steps_.usual(depth / 2, range);  // walked afresh
    path_.usual_slots(depth, range);
    const Frame* frames = path_.usual_frames(depth);
    range(frames, distance(frames, end));
  }

  static std::size_t distance(const void* begin, const void* end) noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(end) -
                                    static_cast<const std::byte*>(begin));
  }

  static WalkEnd end_of(Outcome outcome) noexcept;
  template <bool kAll>
  [[gnu::hot]] Outcome trace(const Registers& start, Position& last, std::size_t& count) noexcept;
  void describe(const Rule& rule, const Position& at, Step& step) const noexcept;
  [[gnu::hot]] bool splices(Position at, std::size_t steps) noexcept;
  Outcome step_plain(const Rule& rule, Position& at, Step& step) noexcept;
  Moved step_slowly(const Rule& rule, Position at, Step& step, RegisterFile* all) noexcept;
  Moved step_compact(const Rule& rule, Position at, Step& step, std::uint64_t cfa_base) noexcept;
  Moved step_leaf(const Rule& rule, Position at, Step& step, std::uint64_t cfa) noexcept;
  Moved step_general(Position at, Step& step, RegisterFile& all) noexcept;
  Moved step_interrupted(const Rule& rule, Position at, Step& step, RegisterFile& all) noexcept;
  Moved step_bridge(const Rule& rule, Position at, Step& step) noexcept;
  void follow_others(const Rule& rule, const Position& at, std::uint64_t cfa, RegisterFile& all) noexcept;

  // In the order that brings together what walks touch: the first steps, and from the end of the last path's
  // frames to the last rule.
  Steps steps_;
  Path path_;
  FindModule find_;
  void* context_;
  std::uint32_t invalidated_;
  bool all_registers_;  // some rule needed more than sp, bp and bx: follow all from the start
  StackBounds bounds_;
  RuleCache rules_;
};

constexpr std::size_t Walker::size() noexcept {
  return sizeof(Walker);
}

}  // namespace culprit::unwind
