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

// The steps go from the outside in, so that what outer frames need of a register is known when its slot is
// met. State is kept in scalars, and frames are copied in the sizes they were written in, lest loads wait for
// stores to finish.
void Path::remember(const Step* steps, std::size_t count, const At& last, bool spliced, WalkEnd end,
                    bool foreign) noexcept {
  std::size_t position = spliced ? candidate_ : kMaxDepth;
  std::uint32_t check = spliced ? frames_[position].checks : 0;
  unsigned need = spliced ? frames_[position].need : 0;
  std::uint64_t caller_pc = last.pc, caller_bp = last.bp, caller_bx = last.bx;
  while (count != 0) {
    const Step& step = steps[--count];
    if (step.return_slot != 0) checks_[check++] = {step.return_slot, caller_pc};
    if (step.cfa_slot != 0) checks_[check++] = {step.cfa_slot, step.cfa_value};
    if ((need & Step::kUsesBp) != 0 && step.bp_slot != 0) {
      checks_[check++] = {step.bp_slot, caller_bp};
      need &= ~unsigned{Step::kUsesBp};
    }
    if ((need & Step::kUsesBx) != 0 && step.bx_slot != 0) {
      checks_[check++] = {step.bx_slot, caller_bx};
      need &= ~unsigned{Step::kUsesBx};
    }
    need |= step.uses | (step.opaque ? kNever : 0U);
    caller_pc = step.frame.pc;
    caller_bp = step.frame.bp;
    caller_bx = step.frame.bx;
    Frame& frame = frames_[--position];
    frame = step.frame;
    frame.need = static_cast<std::uint8_t>(need);
    frame.checks = check;
  }
  first_ = position;
  foreign_ = foreign || (spliced && foreign_);
  whole_ = end == WalkEnd::root;
}

}  // namespace culprit::unwind
