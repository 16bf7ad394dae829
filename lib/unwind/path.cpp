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

void Path::prepend(const Step& step, const At& caller, std::uint8_t& need, std::size_t& check) noexcept {
  if (step.return_slot != 0) checks_[--check] = {step.return_slot, caller.pc};
  if (step.cfa_slot != 0) checks_[--check] = {step.cfa_slot, step.cfa_value};
  if ((need & Step::kUsesBp) != 0 && step.bp_slot != 0) {
    checks_[--check] = {step.bp_slot, caller.bp};
    need &= static_cast<std::uint8_t>(~Step::kUsesBp);
  }
  if ((need & Step::kUsesBx) != 0 && step.bx_slot != 0) {
    checks_[--check] = {step.bx_slot, caller.bx};
    need &= static_cast<std::uint8_t>(~Step::kUsesBx);
  }
  need |= step.uses;
  if (step.opaque) need |= kNever;
}

void Path::remember(const Step* steps, std::size_t count, const At& last, bool spliced, WalkEnd end,
                    bool foreign) noexcept {
  std::size_t position = kMaxDepth;
  std::size_t check = kMaxChecks;
  std::uint8_t need = 0;
  if (spliced) {
    position = candidate_;
    check = nodes_[position].checks;
    need = nodes_[position].need;
  }
  At caller = last;
  while (count != 0) {
    const Step& step = steps[--count];
    prepend(step, caller, need, check);
    frames_[--position] = step.frame;
    nodes_[position] = {step.sp, step.bp, step.bx, static_cast<std::uint32_t>(check), need};
    caller.pc = step.frame.pc;
    caller.bp = step.bp;
    caller.bx = step.bx;
  }
  first_ = position;
  foreign_ = foreign || (spliced && foreign_);
  whole_ = end == WalkEnd::root;
}

}  // namespace culprit::unwind
