#pragma once

#include "unwind/byte_cursor.hpp"
#include "unwind/frame.hpp"
#include "unwind/stack_bounds.hpp"

#include <cstddef>
#include <cstdint>

// The verified splice. A walk from some frame outwards is a function of that frame's pc and sp, of the
// registers that outer rules use before they are restored, and of the memory that the walk read. So the last
// walk is kept with all of these: each frame's registers with a mask of those that matter, and the addresses
// and values of all slots that matter. When a new walk arrives at a remembered frame with the same pc, sp and
// registers that matter, and every slot from there outwards still holds its value, then the rest of the walk
// would be the same, and is reused unread.
namespace culprit::unwind {

/// What a walk found out about one frame on its way.
struct Step {
  enum : std::uint8_t {
    kUsesBp = 1,
    kUsesBx = 2,
    kBridged = 4,  ///< no register: Frame::bridged, so that a path knows whether any of its frames is
  };

  Frame frame;
  std::uint64_t return_slot;          ///< where the return address was read; 0: nowhere
  std::uint64_t bp_slot, bx_slot;     ///< where the caller's registers were read; 0: they were left alone
  std::uint64_t cfa_slot, cfa_value;  ///< a load that the CFA needed; 0: none
  std::uint8_t uses;                  ///< registers (beside pc and sp) that the step itself depended on
  bool opaque;  ///< depended on more than is noted here: never splice at or inside of it
};

/// The last walk: frames right-justified, slots from the outermost on, so that the outer part of both can
/// stay where it is, and that what most walks touch lies close together. Lives in zeroed memory.
class Path {
 public:
  static constexpr std::size_t kMaxDepth = 1024;

  /// Registers of the frame at which a splice is considered.
  struct At {
    std::uint64_t pc, sp, bp, bx;
    FrameOrigin origin;
  };

  /// Forgets the last walk.
  void clear() noexcept {
    first_ = kMaxDepth;
    whole_ = false;
    foreign_ = false;
  }

  /// Starts a search for a splice, innermost frame first. `inside`: the walk starts on the thread's own
  /// stack, of which nothing below `floor` may be read. The slots are then read at once, all together, so
  /// that their cache misses overlap each other and what the walk does next.
  void start(bool inside, std::uint64_t floor) noexcept {
    candidate_ = whole_ ? first_ : kMaxDepth;
    held_ = kUnknown;
    if (inside && whole_ && !foreign_ && first_ < kMaxDepth)
      held_ = count_held(frames_[first_].checks, floor);
  }

  /// Could the remembered frame at the candidate position be `at`? Moves the candidate outwards past frames
  /// that lie below at.sp.
  bool matches(const At& at) noexcept {
    while (candidate_ < kMaxDepth && frames_[candidate_].sp < at.sp) ++candidate_;
    if (candidate_ == kMaxDepth) return false;
    const Frame& frame = frames_[candidate_];
    return frame.sp == at.sp && frame.pc == at.pc && frame.origin == at.origin &&
           (frame.need & kNever) == 0 && ((frame.need & Step::kUsesBp) == 0 || frame.bp == at.bp) &&
           ((frame.need & Step::kUsesBx) == 0 || frame.bx == at.bx);
  }

  /// True: all slots from the candidate outwards hold their values. Otherwise the candidate moves outside of
  /// what has changed.
  bool verify(StackBounds& bounds) noexcept {
    if (held_ == kUnknown) [[unlikely]]
      held_ = count_held_carefully(bounds, frames_[candidate_].checks);
    if (frames_[candidate_].checks <= held_) [[likely]]
      return true;
    while (candidate_ < kMaxDepth && frames_[candidate_].checks > held_) ++candidate_;
    return false;
  }

  /// Depth that a walk of `fresh` steps spliced at the candidate would have.
  [[nodiscard]] std::size_t spliced_depth(std::size_t fresh) const noexcept {
    return fresh + kMaxDepth - candidate_;
  }

  /// Remembers a walk of `count` steps, innermost first, that ended in `last`. Spliced: they continue at the
  /// candidate, whose registers `last` then holds.
  [[gnu::hot]] void remember(const Step* steps, std::size_t count, const At& last, bool spliced, WalkEnd end,
                             bool foreign) noexcept;

  /// Memory that paths of usual depth take up, see Walker::usual_memory.
  template <typename Range>
  void usual_slots(Range range) noexcept {
    range(checks_, 2 * kUsualDepth * sizeof(Check));
  }
  [[nodiscard]] Frame* usual_frames() noexcept { return frames_ + kMaxDepth - kUsualDepth; }

  /// The remembered walk's frames, innermost first.
  [[nodiscard]] Frame* frames() noexcept { return frames_ + first_; }
  [[nodiscard]] std::size_t depth() const noexcept { return kMaxDepth - first_; }

  /// A slot that matters, and what it held.
  struct Check {
    std::uint64_t address, value;
  };
  /// What the remembered walk depends on beside its first frame's pc and sp.
  struct Dependence {
    const Check* slots;
    std::size_t count;
    std::uint8_t uses;  ///< Step's bits: registers of the first frame
    bool complete;      ///< on nothing else, and all slots lie on the thread's own stack
  };
  [[nodiscard]] Dependence dependence() const noexcept {
    if (first_ == kMaxDepth || !whole_ || foreign_)
      return {.slots = checks_, .count = 0, .uses = 0, .complete = false};
    const Frame& frame = frames_[first_];
    return {
        .slots = checks_, .count = frame.checks, .uses = frame.need, .complete = (frame.need & kNever) == 0};
  }

  /// True if any of its frames is bridged.
  [[nodiscard]] bool bridged() const noexcept {
    return first_ < kMaxDepth && (frames_[first_].need & Step::kBridged) != 0;
  }

 private:
  static constexpr std::size_t kUsualDepth = 64;
  static constexpr std::uint8_t kNever = 0x80;
  static constexpr std::size_t kMaxChecks = 4 * kMaxDepth;
  static constexpr std::size_t kUnknown = ~std::size_t{0};

  /// How many of the first `count` slots, from the outermost on, hold their values.
  [[nodiscard, gnu::hot]] std::size_t count_held(std::size_t count, std::uint64_t floor) const noexcept;
  /// The same where slots may have been unmapped since.
  [[nodiscard]] std::size_t count_held_carefully(StackBounds& bounds, std::size_t count) const noexcept;

  Check checks_[kMaxChecks];
  Frame frames_[kMaxDepth];
  std::size_t first_;
  std::size_t candidate_;
  std::size_t held_;
  bool whole_;    // reached the root: may be spliced to
  bool foreign_;  // some slots lie outside the thread's stack and may have been unmapped since
};

}  // namespace culprit::unwind
