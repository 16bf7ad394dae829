#pragma once

#include "machine/machine.hpp"
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
// would be the same, and is reused unread (docs/algorithms.md 14).
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

/// The steps of a walk that is under way, in bounded room: the first and the last of them, and milestones of
/// those between. Of a path deeper than kMaxDepth the outermost and the innermost frames are shown. Of the
/// gap between them every kStride-th frame is remembered, a milestone, so that later walks need not come by
/// all of it: a walk that arrives at a milestone is spliced there where the milestones from there outwards
/// and all slots of the outermost frames hold. What lies between two milestones is not verified; nor is it
/// shown. Lives in zeroed memory.
class Steps {
 public:
  /// Deepest path that is shown whole.
  static constexpr std::size_t kMaxDepth = 1024;
  /// Of deeper ones: how many of the outermost frames are shown, and how many outside of the innermost frame
  /// of the recursion, which is looked for in as many.
  static constexpr std::size_t kOutermost = 512;
  static constexpr std::size_t kReach = 256;
  /// How many of the innermost frames are kept, more than are shown: a walk that is spliced to them may begin
  /// further out.
  static constexpr std::size_t kInnermost = 1024;
  /// From one milestone to the next.
  static constexpr std::size_t kStride = 512;
  /// More steps than this no walk takes.
  static constexpr std::size_t kMost = std::size_t{1} << 18;
  static constexpr std::size_t kRoom = kInnermost + 2 * kStride;  // two blocks that take turns
  static constexpr std::size_t kMilestones = (kMost - kRoom) / kStride;

  // Who walks keeps where the next step goes, where the block ends that is being filled, and how many blocks
  // were thinned out: in the many walks of usual depth, nothing of it is ever in memory.

  [[nodiscard]] Step* begin() noexcept { return steps_; }
  [[nodiscard]] const Step* first_end() const noexcept { return steps_ + kRoom; }
  /// Makes room for another kStride steps, where all is full: thins out one more block after `thinned`, and
  /// returns its beginning. Null where the walk has taken too many steps.
  [[nodiscard, gnu::cold]] Step* make_room(std::size_t thinned) noexcept;
  /// How many steps were written, if the next one goes to `step`.
  [[nodiscard]] std::size_t count(const Step* step, std::size_t thinned) const noexcept {
    return static_cast<std::size_t>(step - steps_) + (thinned + 1) / 2 * (2 * kStride);
  }

  /// The innermost steps: as many as there are, up to kInnermost.
  [[nodiscard]] const Step* innermost() const noexcept { return steps_; }
  /// Step `i`: one of the innermost kInnermost, or one that was not thinned out.
  [[nodiscard]] const Step& at(std::size_t i) const noexcept {
    return steps_[i < kInnermost ? i : kInnermost + (i - kInnermost) % (2 * kStride)];
  }
  /// Of a walk of `count` steps, those from kInnermost up to this one were thinned out; of each kStride of
  /// them, in order, the first is a milestone, with the flags of all.
  [[nodiscard]] static std::size_t thinned(std::size_t count) noexcept {
    return kInnermost + (count > kRoom ? (count - kRoom + kStride - 1) / kStride * kStride : 0);
  }
  [[nodiscard]] const Step& milestone(std::size_t i) const noexcept { return milestones_[i]; }

  /// Room for the steps of walks of usual depth, see Walker::usual_memory.
  template <typename Range>
  void usual(std::size_t steps, Range range) noexcept {
    range(steps_, steps * sizeof(Step));
  }

 private:
  static_assert(kInnermost > 2 * kReach && kStride >= kOutermost && kRoom >= kMaxDepth);

  Step steps_[kRoom];
  Step milestones_[kMilestones];
};

/// The last walk: frames right-justified, slots from the outermost on, so that the outer part of both can
/// stay where it is, and that what most walks touch lies close together. Lives in zeroed memory.
class Path {
 public:
  /// Registers of the frame at which a splice is considered.
  struct At {
    std::uint64_t pc, sp, bp, bx;
    FrameOrigin origin;
  };

  /// Forgets the last walk.
  void clear() noexcept {
    first_ = kFrames;
    inner_end_ = kFrames;
    total_ = 0;
    whole_ = false;
    foreign_ = false;
  }

  /// Starts a search for a splice, innermost frame first. `inside`: the walk starts on the thread's own
  /// stack, of which nothing below `floor` may be read. The slots are then read at once, all together, so
  /// that their cache misses overlap each other and what the walk does next.
  void start(bool inside, std::uint64_t floor) noexcept {
    candidate_ = whole_ ? first_ : kFrames;
    held_ = kUnknown;
    if (inside && whole_ && !foreign_ && first_ < kFrames) held_ = count_held(frames_[first_].checks, floor);
  }

  /// Could the remembered frame at the candidate position be `at`? Moves the candidate outwards past frames
  /// that lie below at.sp.
  bool matches(const At& at) noexcept {
    while (candidate_ < kFrames && frames_[candidate_].sp < at.sp) ++candidate_;
    if (candidate_ == kFrames) return false;
    // Where functions need no stack, one's caller has the same.
    if (machine::This::kReturnsByRegister && frames_[candidate_].pc != at.pc && candidate_ + 1 < kFrames &&
        frames_[candidate_ + 1].sp == at.sp)
      ++candidate_;
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
    while (candidate_ < kFrames && frames_[candidate_].checks > held_) ++candidate_;
    return false;
  }

  /// Whether a walk of `fresh` steps that is spliced at the candidate has all the frames that a fresh walk
  /// would keep: not where they lie in this path's gap.
  [[nodiscard]] bool serves(std::size_t fresh) const noexcept;

  /// Remembers a walk of `count` steps that ended in `last`. Spliced: they continue at the candidate, whose
  /// registers `last` then holds. Returns how many of the frames are new.
  [[gnu::hot]] std::size_t remember(const Steps& steps, std::size_t count, const At& last, bool spliced,
                                    WalkEnd end, bool foreign) noexcept;

  /// Memory that paths of `depth` frames take up, see Walker::usual_memory.
  template <typename Range>
  void usual_slots(std::size_t depth, Range range) noexcept {
    range(checks_, 2 * depth * sizeof(Check));
  }
  [[nodiscard]] Frame* usual_frames(std::size_t depth) noexcept { return frames_ + kFrames - depth; }
  static constexpr std::size_t kUsualDepth = 64;
  static constexpr std::size_t kLeastDepth = 12;

  /// The remembered walk's frames, innermost first.
  [[nodiscard]] Frame* frames() noexcept { return frames_ + first_; }
  [[nodiscard]] std::size_t depth() const noexcept { return kFrames - first_; }
  /// What of them stands in a gap.
  [[nodiscard]] Gap gap() const noexcept {
    if (!gapped()) return {};
    return {.begin = shown_, .end = kGapEnd - first_, .frames = total_ - shown_ - Steps::kOutermost};
  }

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
    if (first_ == kFrames || !whole_ || foreign_)
      return {.slots = checks_, .count = 0, .uses = 0, .complete = false};
    const Frame& frame = frames_[first_];
    return {
        .slots = checks_, .count = frame.checks, .uses = frame.need, .complete = (frame.need & kNever) == 0};
  }

  /// True if any of its frames is bridged.
  [[nodiscard]] bool bridged() const noexcept {
    return first_ < kFrames && (frames_[first_].need & Step::kBridged) != 0;
  }

 private:
  static constexpr std::uint8_t kNever = 0x80;
  static constexpr std::size_t kMostInner = Steps::kInnermost + 512;       // they grow by splices
  static constexpr std::size_t kMaxMilestones = Steps::kMilestones + 256;  // so does the depth
  static constexpr std::size_t kFrames = kMostInner + kMaxMilestones + Steps::kOutermost;
  static constexpr std::size_t kGapEnd = kFrames - Steps::kOutermost;
  static constexpr std::size_t kMaxChecks = 4 * kFrames;
  static constexpr std::size_t kUnknown = ~std::size_t{0};

  /// How many of the first `count` slots, from the outermost on, hold their values.
  [[nodiscard, gnu::hot]] std::size_t count_held(std::size_t count, std::uint64_t floor) const noexcept;
  /// The same where slots may have been unmapped since.
  [[nodiscard]] std::size_t count_held_carefully(StackBounds& bounds, std::size_t count) const noexcept;

  /// Where the frames that are being remembered go, and what those inside of them need.
  struct Growth;

  [[nodiscard]] bool gapped() const noexcept { return total_ > Steps::kMaxDepth; }
  /// How many frames of the whole path are not further in than the one at `position`; 0 behind the outermost.
  [[nodiscard]] std::size_t depth_at(std::size_t position) const noexcept;
  /// How many of a deep path's innermost frames are shown.
  [[nodiscard]] std::size_t innermost_shown() const noexcept;
  void add(Growth& growth, const Step& step) noexcept;
  void add_milestone(Growth& growth, const Step& step, std::size_t depth) noexcept;
  [[gnu::cold]] Growth add_gap(Growth growth, const Steps& steps, std::size_t inner, std::size_t count,
                               std::size_t total) noexcept;

  Check checks_[kMaxChecks];
  Frame frames_[kFrames];
  std::size_t total_;  // frames of the whole path, those in the gap included
  std::size_t first_;
  std::size_t candidate_;
  std::size_t held_;
  bool whole_;             // reached the root: may be spliced to
  bool foreign_;           // some slots lie outside the thread's stack and may have been unmapped since
  std::size_t inner_end_;  // if gapped: the innermost frames are [first_, inner_end_), then come milestones
  std::size_t shown_;      // if gapped: how many of the innermost
};

}  // namespace culprit::unwind
