// Whole walks that were made before and may come again (docs/algorithms.md 14).
#include "unwind/known_walk.hpp"

namespace culprit::unwind {

// Four at a time, so that many slots cost few branches.
[[gnu::no_sanitize_address]] bool KnownWalk::slots_hold() const noexcept {
  const auto differs = [this](std::size_t i) {
    return load_as<std::uint64_t>(slots_[i].address) ^ slots_[i].value;
  };
  std::size_t i = 0;
  for (; i + 4 <= count_; i += 4) {
    if ((differs(i) | differs(i + 1) | differs(i + 2) | differs(i + 3)) != 0) return false;
  }
  while (i < count_ && differs(i) == 0) ++i;
  return i == count_;
}

void KnownWalk::keep(const Walker& walker, const Registers& start) noexcept {
  // A longjmp out of a signal handler may leave this anywhere: it is then not known.
  pc_ = 0;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  const Path::Dependence all = walker.dependence();
  if (!all.complete || all.count > kMaxSlots) return;
  sp_ = start.sp;
  bp_ = start.bp;
  bx_ = start.bx;
  uses_ = all.uses;
  count_ = static_cast<std::uint32_t>(all.count);
  for (std::size_t i = 0; i < all.count; ++i) slots_[i] = all.slots[i];
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  pc_ = start.pc;
}

}  // namespace culprit::unwind
