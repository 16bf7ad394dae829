#pragma once

#include <cstddef>
#include <span>

namespace culprit::storage {

/// Items that follow each other differ little, field by field: times go on by microseconds, call paths and
/// causes come again. So each four bytes of an item are kept as the difference from those of the item before,
/// in as few bytes as the largest of thirty-two such differences takes: a third or a quarter, in a nanosecond
/// or so for each four bytes, much less than what it takes the system to give memory, or to copy it to a
/// file.

inline constexpr std::size_t kMostColumns = 64;

/// The most that a number of items of up to kMostColumns columns of four bytes take, packed.
std::size_t most_packed(std::size_t rows, std::size_t columns);

/// Packs `rows` items of `columns` times four bytes into `packed`, which has room for most_packed(). Returns
/// how many bytes it took.
std::size_t pack_items(std::span<const std::byte> items, std::size_t rows, std::size_t columns,
                       std::span<std::byte> packed);

/// The reverse: what pack_items() made of this many items.
void unpack_items(std::span<const std::byte> packed, std::size_t rows, std::size_t columns,
                  std::span<std::byte> items);

}  // namespace culprit::storage
