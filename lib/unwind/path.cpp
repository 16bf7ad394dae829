// The last walk, and how a new one is spliced to it (path.hpp; docs/algorithms.md 14): compares remembered
// stack slots from the outermost on, four at a time, and keeps frames right-justified, so that the outer part
// of a spliced path stays where it is. Cost: one load and comparison per slot.
// No <algorithm>: clang refuses it where only general registers may be used (CMakeLists.txt).
#include "unwind/path.hpp"

namespace culprit::unwind {

// Four at a time, so that a run of many slots costs few branches. A slot below the floor is not read.
[[gnu::no_sanitize_address]] std::size_t Path::count_held(std::size_t count,
                                                          std::uint64_t floor) const noexcept {
  const auto differs = [this](std::size_t i) {
    return load_as<std::uint64_t>(checks_[i].address) ^ checks_[i].value;
  };
  const auto below = [this, floor](std::size_t i) { return unsigned{checks_[i].address < floor}; };
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    if ((below(i) | below(i + 1) | below(i + 2) | below(i + 3)) != 0) break;
    if ((differs(i) | differs(i + 1) | differs(i + 2) | differs(i + 3)) != 0) break;
  }
  while (i < count && below(i) == 0 && differs(i) == 0) ++i;
  return i;
}

std::size_t Path::count_held_carefully(StackBounds& bounds, std::size_t count) const noexcept {
  std::size_t i = 0;
  while (i < count && (!foreign_ || bounds.verify(checks_[i].address)) &&
         load_as<std::uint64_t>(checks_[i].address) == checks_[i].value)
    ++i;
  return i;
}

Step* Steps::make_room(std::size_t thinned) noexcept {
  if (thinned == kMilestones) return nullptr;
  Step* block = steps_ + kInnermost + thinned % 2 * kStride;
  Step& milestone = milestones_[thinned];
  milestone = block[0];
  for (std::size_t i = 1; i < kStride; ++i) {
    milestone.uses |= block[i].uses & Step::kBridged;
    milestone.opaque = milestone.opaque || block[i].opaque;
  }
  return block;
}

struct Path::Growth {
  std::size_t position;
  std::uint32_t check;
  unsigned need;
  std::uint64_t caller_pc, caller_bp, caller_bx;
};

std::size_t Path::depth_at(std::size_t position) const noexcept {
  if (!gapped() || position >= kGapEnd) return kFrames - position;
  return position < inner_end_ ? total_ - (position - first_) : frames_[position].user;
}

bool Path::serves(std::size_t fresh) const noexcept {
  const std::size_t total = fresh + depth_at(candidate_);
  if (total <= Steps::kMaxDepth) return !gapped() || candidate_ >= kGapEnd;
  if (candidate_ >= kGapEnd) return true;
  if (!gapped()) return false;
  const bool inside = candidate_ < inner_end_;
  const std::size_t inner = fresh + (inside ? inner_end_ - candidate_ : 0);
  return inner >= 2 * Steps::kReach && inner <= (inside ? kMostInner : total);
}

/// Where the gap ends decides how many different paths there are: of a recursion to changing depths, with
/// calls of changing depth at its bottom, all should have one place. So a frame of the recursion is chosen
/// that is the same in all of them, the one with the lowest address, and as many frames are shown outside of
/// its innermost occurrence as it takes to show the same number of them each time.
std::size_t Path::innermost_shown() const noexcept {
  const Frame* frames = frames_ + first_;
  constexpr std::size_t kReach = Steps::kReach;
  std::uint64_t lowest = ~std::uint64_t{0};
  for (std::size_t i = kReach; i < 2 * kReach; ++i) {
    if (frames[i].offset < lowest) lowest = frames[i].offset;
  }
  std::size_t innermost = 0;
  while (innermost < kReach && frames[innermost].offset != lowest) ++innermost;
  return innermost + kReach;
}

// State is kept in scalars, and frames are copied in the sizes they were written in, lest loads wait for
// stores to finish.
[[gnu::always_inline]] inline void Path::add(Growth& growth, const Step& step) noexcept {
  // A register that was saved there holds the address as it is there, perhaps with a signature.
  const bool in_register = machine::This::kReturnsByRegister && step.return_slot == step.bx_slot;
  if (step.return_slot != 0)
    checks_[growth.check++] = {step.return_slot, in_register ? growth.caller_bx : growth.caller_pc};
  if (step.cfa_slot != 0) checks_[growth.check++] = {step.cfa_slot, step.cfa_value};
  if ((growth.need & Step::kUsesBp) != 0 && step.bp_slot != 0) {
    checks_[growth.check++] = {step.bp_slot, growth.caller_bp};
    growth.need &= ~unsigned{Step::kUsesBp};
  }
  if ((growth.need & Step::kUsesBx) != 0 && step.bx_slot != 0) {
    checks_[growth.check++] = {step.bx_slot, growth.caller_bx};
    growth.need &= ~unsigned{Step::kUsesBx};
  }
  growth.need |= step.uses | (step.opaque ? kNever : 0U);
  growth.caller_pc = step.frame.pc;
  growth.caller_bp = step.frame.bp;
  growth.caller_bx = step.frame.bx;
  Frame& frame = frames_[--growth.position];
  frame = step.frame;
  frame.need = static_cast<std::uint8_t>(growth.need);
  frame.checks = growth.check;
}

// Its caller is not at hand: what the slot held is read again. Nor is it known which registers the frames
// outside of it depend on: both count.
[[gnu::no_sanitize_address]] void Path::add_milestone(Growth& growth, const Step& step,
                                                      std::size_t depth) noexcept {
  growth.need |= unsigned{Step::kUsesBp} | Step::kUsesBx;
  growth.caller_pc = step.return_slot != 0 ? load_as<std::uint64_t>(step.return_slot) : 0;
  Step bare = step;
  bare.bp_slot = 0;
  bare.bx_slot = 0;
  add(growth, bare);
  frames_[growth.position].user = static_cast<std::uint32_t>(depth);
}

/// Of a path of `total` frames, the steps up to `count` that are among the outermost, and the gap, down to
/// step `inner`. The last one there is a milestone, so that the path is not walked again when its innermost
/// frames are, and so are others, one stride apart.
Path::Growth Path::add_gap(Growth growth, const Steps& steps, std::size_t inner, std::size_t count,
                           std::size_t total) noexcept {
  const auto room = [&growth] { return growth.position > kMostInner + 1; };
  std::size_t i = count;
  while (growth.position > kGapEnd) add(growth, steps.at(--i));
  while (i-- > inner) {
    const bool thinned = i >= Steps::kInnermost && i < Steps::thinned(count);
    if (thinned) i -= (i - Steps::kInnermost) % Steps::kStride;
    const Step& step = thinned ? steps.milestone((i - Steps::kInnermost) / Steps::kStride) : steps.at(i);
    growth.need |= (step.uses & Step::kBridged) | (step.opaque ? kNever : 0U);
    const bool due = thinned || (total - i) % Steps::kStride == 0;
    if (i == inner || (due && room())) add_milestone(growth, step, total - i);
  }
  return growth;
}

// The steps go from the outside in, so that what outer frames need of a register is known when its slot is
// met.
std::size_t Path::remember(const Steps& steps, std::size_t count, const At& last, bool spliced, WalkEnd end,
                           bool foreign) noexcept {
  const std::size_t from = spliced ? candidate_ : kFrames;
  const std::size_t reused = depth_at(from);
  const std::size_t total = count + reused;
  Growth growth{.position = from,
                .check = spliced ? frames_[from].checks : 0,
                .need = spliced ? frames_[from].need : 0U,
                .caller_pc = last.pc,
                .caller_bp = last.bp,
                .caller_bx = last.bx};
  const bool deep = total > Steps::kMaxDepth;
  std::size_t inner = count;
  if (deep && (!gapped() || from >= inner_end_)) [[unlikely]] {
    const std::size_t outer = reused < Steps::kOutermost ? Steps::kOutermost - reused : 0;
    inner = count - outer < Steps::kInnermost ? count - outer : Steps::kInnermost;
    growth = add_gap(growth, steps, inner, count, total);
    inner_end_ = growth.position;
  }
  const Step* first = steps.innermost();
  while (inner != 0) add(growth, first[--inner]);
  const std::size_t gap_before = total_ - shown_;
  first_ = growth.position;
  total_ = total;
  foreign_ = foreign || (spliced && foreign_);
  whole_ = end == WalkEnd::root;
  if (!deep) return from - first_;
  shown_ = innermost_shown();
  // Frames inside of a gap that ends elsewhere than it did are new to who keeps the path.
  const bool same_gap = from < inner_end_ && total_ - shown_ == gap_before;
  return same_gap ? from - first_ : (from > kGapEnd ? from : kGapEnd) - first_;
}

}  // namespace culprit::unwind
