#include "unwind/path.hpp"

namespace culprit::unwind {

namespace {

[[gnu::no_sanitize_address]] inline std::uint64_t difference(std::uint64_t address,
                                                             std::uint64_t value) noexcept {
  return load_as<std::uint64_t>(address) ^ value;
}

}  // namespace

bool Path::verify(StackBounds& bounds) noexcept {
  const std::size_t begin = nodes_[candidate_].checks;
  if (foreign_) {
    for (std::size_t i = begin; i < kMaxChecks; ++i) {
      if (bounds.verify(checks_[i].address)) continue;
      candidate_ = kMaxDepth;
      return false;
    }
  }
  std::uint64_t changed = 0;
  for (std::size_t i = begin; i < kMaxChecks; ++i)
    changed |= difference(checks_[i].address, checks_[i].value);
  if (changed == 0) [[likely]]
    return true;
  std::size_t outermost = kMaxChecks - 1;
  while (difference(checks_[outermost].address, checks_[outermost].value) == 0) --outermost;
  while (candidate_ < kMaxDepth && nodes_[candidate_].checks <= outermost) ++candidate_;
  return false;
}

// The steps go from the outside in, so that what outer frames need of a register is known when its slot is
// met. State is kept in scalars, and frames are copied in the sizes they were written in, lest loads wait for
// stores to finish.
void Path::remember(const Step* steps, std::size_t count, const At& last, bool spliced, WalkEnd end,
                    bool foreign) noexcept {
  std::size_t position = spliced ? candidate_ : kMaxDepth;
  std::size_t check = spliced ? nodes_[position].checks : kMaxChecks;
  unsigned need = spliced ? nodes_[position].need : 0;
  std::uint64_t caller_pc = last.pc, caller_bp = last.bp, caller_bx = last.bx;
  while (count != 0) {
    const Step& step = steps[--count];
    if (step.return_slot != 0) checks_[--check] = {step.return_slot, caller_pc};
    if (step.cfa_slot != 0) checks_[--check] = {step.cfa_slot, step.cfa_value};
    if ((need & Step::kUsesBp) != 0 && step.bp_slot != 0) {
      checks_[--check] = {step.bp_slot, caller_bp};
      need &= ~unsigned{Step::kUsesBp};
    }
    if ((need & Step::kUsesBx) != 0 && step.bx_slot != 0) {
      checks_[--check] = {step.bx_slot, caller_bx};
      need &= ~unsigned{Step::kUsesBx};
    }
    need |= step.uses | (step.opaque ? kNever : 0U);
    caller_pc = step.frame.pc;
    caller_bp = step.bp;
    caller_bx = step.bx;
    frames_[--position] = step.frame;
    nodes_[position] = {step.sp, caller_bp, caller_bx, static_cast<std::uint32_t>(check),
                        static_cast<std::uint8_t>(need)};
  }
  first_ = position;
  foreign_ = foreign || (spliced && foreign_);
  whole_ = end == WalkEnd::root;
}

}  // namespace culprit::unwind
