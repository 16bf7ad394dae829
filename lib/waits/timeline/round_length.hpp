#pragma once

#include <algorithm>
#include <cstdint>

namespace culprit::waits {

/// How long the rounds are in which all ranks of the analysis go through time together: whatever the density
/// of what they take, halved and doubled until a round holds about as much as is wished.
class RoundLength {
 public:
  [[nodiscard]] std::uint64_t ns() const { return ns_; }
  /// Of the next round, by what the last one held.
  void adapt(bool too_much, bool less_than_half) {
    if (too_much) ns_ = std::max<std::uint64_t>(ns_ / 2, 1);
    if (less_than_half && ns_ < kMostNs) ns_ *= 2;
  }

 private:
  static constexpr std::uint64_t kMostNs = std::uint64_t{1} << 60;
  std::uint64_t ns_ = 1'000'000;
};

}  // namespace culprit::waits
