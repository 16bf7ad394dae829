#pragma once

#include "measurement/checksum.hpp"
#include "measurement/live_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

// Checksums of what is written once into a live measurement, and of counters. Shared by writer and reader;
// docs/formats.md, chapter "Live measurement".
namespace culprit::measurement::layout {

/// The checksum of a block's header in a live measurement: of its fields between magic and checksum.
inline std::uint64_t block_checksum(const BlockHeader& header) {
  constexpr std::size_t kBytes = offsetof(BlockHeader, checksum) - offsetof(BlockHeader, type);
  return XXH64(reinterpret_cast<const std::byte*>(&header) + offsetof(BlockHeader, type), kBytes, 0);
}

// Of a module's record: what is known at once, and what is looked up later.

/// Of all but size and modification time. `text`: build-id and path, which follow the record.
inline std::uint64_t module_checksum(const ModuleRecord& record, const std::byte* text) {
  struct {
    std::uint64_t load_address;
    std::uint32_t flags;
    std::uint16_t path_size;
    std::uint16_t build_id_size;
    std::uint64_t counters;
  } const head = {record.load_address, record.flags, record.path_size, record.build_id_size, record.counters};
  const std::size_t size = std::size_t{record.build_id_size} + record.path_size;
  return XXH64(text, size, XXH64(&head, sizeof head, 0));
}

/// Of size and modification time; never 0.
inline std::uint32_t stat_checksum(const ModuleRecord& record) {
  const struct {
    std::uint64_t size;
    std::int64_t mtime_ns;
  } words = {record.size, record.mtime_ns};
  return static_cast<std::uint32_t>(XXH64(&words, sizeof words, 0)) | 1;
}

// Counters that carry their own checksum in one word, so that any number of handlers may count with one
// atomic addition: the word is the count times an odd number, modulo 2^64. Only one word in 65 536 is a
// count's, and no two of them differ in one bit.

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
