#pragma once

#include "unwind/walker.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::unwind {

/// A whole walk as it was, to be known when it comes again: what the splice (path.hpp) knows of outer frames,
/// kept for the place where the walk began. The walker remembers its last walk alone, so that who walks from
/// few places in turns walks their inner frames each time. Lives in zeroed memory: nothing known yet.
/// Async-signal-safe; one thread at a time.
class KnownWalk {
 public:
  /// Longer ones are not kept: to compare them costs what the splice does.
  static constexpr std::size_t kMaxSlots = 64;

  /// True if a walk from `start`, by the thread whose walk was kept, would be the same, as long as the same
  /// modules are loaded. Reads no memory below start.sp but what that frame may use.
  [[nodiscard, gnu::hot]] bool holds(const Registers& start) const noexcept {
    if (pc_ != start.pc || sp_ != start.sp || start.pc == 0) return false;
    if ((uses_ & Step::kUsesBp) != 0 && bp_ != start.bp) return false;
    if ((uses_ & Step::kUsesBx) != 0 && bx_ != start.bx) return false;
    return slots_hold();
  }

  /// Keeps the walk that `walker` made last, from `start`; forgets what was known where that depends on more
  /// than can be compared (other stacks, partial walks, too many slots).
  void keep(const Walker& walker, const Registers& start) noexcept;

 private:
  [[nodiscard]] bool slots_hold() const noexcept;

  std::uint64_t pc_;  ///< 0: nothing known
  std::uint64_t sp_, bp_, bx_;
  std::uint32_t count_;
  std::uint8_t uses_;  ///< Step's bits
  Path::Check slots_[kMaxSlots];
};

}  // namespace culprit::unwind
