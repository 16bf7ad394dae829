#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace culprit::storage {

/// So many differences, of a column of items that follow each other, take equally many bytes
/// (packed_items.hpp).
inline constexpr std::size_t kPackedTogether = 32;

/// So many bytes the largest of them takes.
[[nodiscard]] inline std::size_t bytes_for(std::uint32_t largest) {
  return (static_cast<std::size_t>(std::bit_width(largest)) + 7) / 8;
}

/// How eight columns, side by side, of kPackedTogether items are packed at once. Their bytes are those that
/// one column after the other would make.
struct EightColumns {
  /// Of items `stride` bytes from one to the next; `before` is what the item before them has there, and then
  /// what the last of them has. Writes to `at`, returns behind what was written.
  std::byte* (*pack)(const std::byte* items, std::size_t stride, std::uint32_t* before, std::byte* at);
  /// The reverse, from `at`. Returns behind what was read.
  const std::byte* (*unpack)(const std::byte* at, std::size_t stride, std::uint32_t* before,
                             std::byte* items);
};

/// By vectors of eight numbers (AVX2). nullptr: this processor does not have them.
[[nodiscard]] const EightColumns* eight_columns();

}  // namespace culprit::storage
