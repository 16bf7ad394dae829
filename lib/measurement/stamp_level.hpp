#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace culprit::measurement {

/// Which stamps are kept: those whose order, a hash that is the same on all processes, begins with at least
/// level() zero bits. Each level more keeps half as many, chosen alike everywhere. Any thread.
class StampLevel {
 public:
  [[nodiscard]] bool keeps(std::uint64_t order) const noexcept {
    return static_cast<unsigned>(std::countl_zero(order)) >= level();
  }
  [[nodiscard]] unsigned level() const noexcept { return level_.load(std::memory_order_relaxed); }
  /// A lower one changes nothing.
  void raise_to(unsigned level) noexcept {
    if (level > this->level()) level_.store(level, std::memory_order_relaxed);
  }

 private:
  std::atomic<unsigned> level_{0};
};

}  // namespace culprit::measurement
