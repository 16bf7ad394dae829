#pragma once

#include <cstdint>
#include <optional>

// Counters that carry their own checksum in one word, so that any number of handlers may count with one
// atomic addition: the word is the count times an odd number, modulo 2^64. Only one word in 65 536 is a
// count's, and no two of them differ in one bit. docs/formats.md, chapter "Live measurement".
namespace culprit::measurement::layout {

/// What counting one adds to the word.
inline constexpr std::uint64_t kCountStep = 0x9e3779b97f4a7c15U;
inline constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 48;

/// The number whose product with kCountStep is 1, modulo 2^64 (Newton's iteration doubles the bits each
/// time).
inline constexpr std::uint64_t kCountInverse = [] {
  std::uint64_t inverse = kCountStep;
  for (int i = 0; i < 5; ++i) inverse *= 2 - kCountStep * inverse;
  return inverse;
}();
static_assert(kCountStep * kCountInverse == 1);

/// Whether every word that differs from a count's in one bit is no count's.
constexpr bool notices_flipped_bits() {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t change = kCountInverse << bit;
    if (change < kMostCounted || change > ~kMostCounted) return false;
  }
  return true;
}
static_assert(notices_flipped_bits());

/// What was counted; nothing where the word is damaged.
constexpr std::optional<std::uint64_t> checked_count(std::uint64_t word) {
  const std::uint64_t count = word * kCountInverse;
  if (count >= kMostCounted) return std::nullopt;
  return count;
}

}  // namespace culprit::measurement::layout
