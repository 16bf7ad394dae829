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
  enum : std::uint8_t { kUsesBp = 1, kUsesBx = 2 };

  Frame frame;
  std::uint64_t sp, bp, bx;           ///< before the step
  std::uint64_t return_slot;          ///< where the return address was read; 0: nowhere
  std::uint64_t bp_slot, bx_slot;     ///< where the caller's registers were read; 0: they were left alone
  std::uint64_t cfa_slot, cfa_value;  ///< a load that the CFA needed; 0: none
  std::uint8_t uses;                  ///< registers (beside pc and sp) that the step itself depended on
  bool opaque;  ///< depended on more than is noted here: never splice at or inside of it
};

/// The last walk, right-justified in its arrays so that the outer part can stay where it is. Lives in zeroed
/// memory.
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
  }

  /// Starts a search for a splice, innermost frame first.
  void start() noexcept { candidate_ = whole_ ? first_ : kMaxDepth; }

  /// Could the remembered frame at the candidate position be `at`? Moves the candidate outwards past frames
  /// that lie below at.sp.
  bool matches(const At& at) noexcept {
    while (candidate_ < kMaxDepth && nodes_[candidate_].sp < at.sp) ++candidate_;
    if (candidate_ == kMaxDepth) return false;
    const Node& node = nodes_[candidate_];
    const Frame& frame = frames_[candidate_];
    return node.sp == at.sp && frame.pc == at.pc && frame.origin == at.origin && (node.need & kNever) == 0 &&
           ((node.need & Step::kUsesBp) == 0 || node.bp == at.bp) &&
           ((node.need & Step::kUsesBx) == 0 || node.bx == at.bx);
  }

  /// Re-reads all slots from the candidate outwards. True: all hold. Otherwise the candidate moves outside of
  /// what has changed.
  bool verify(StackBounds& bounds) noexcept;

  /// Depth that a walk of `fresh` steps spliced at the candidate would have.
  [[nodiscard]] std::size_t spliced_depth(std::size_t fresh) const noexcept {
    return fresh + kMaxDepth - candidate_;
  }

  /// Remembers a walk of `count` steps, innermost first, that ended in `last`. Spliced: they continue at the
  /// candidate, whose registers `last` then holds.
  void remember(const Step* steps, std::size_t count, const At& last, bool spliced, WalkEnd end,
                bool foreign) noexcept;

  /// The remembered walk's frames, innermost first.
  [[nodiscard]] Frame* frames() noexcept { return frames_ + first_; }
  [[nodiscard]] std::size_t depth() const noexcept { return kMaxDepth - first_; }

 private:
  static constexpr std::uint8_t kNever = 0x80;
  static constexpr std::size_t kMaxChecks = 4 * kMaxDepth;

  struct Node {
    std::uint64_t sp, bp, bx;
    std::uint32_t checks;  // first of the checks of this frame and those outside of it
    std::uint8_t need;     // registers that matter from here outwards
  };
  struct Check {
    std::uint64_t address, value;
  };

  std::size_t first_;
  std::size_t candidate_;
  bool whole_;    // reached the root: may be spliced to
  bool foreign_;  // some slots lie outside the thread's stack and may have been unmapped since
  Frame frames_[kMaxDepth];
  Node nodes_[kMaxDepth];
  Check checks_[kMaxChecks];
};

}  // namespace culprit::unwind
