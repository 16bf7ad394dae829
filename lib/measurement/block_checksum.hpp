#pragma once

#include "measurement/checksum.hpp"
#include "measurement/live_layout.hpp"

#include <cstddef>
#include <cstdint>

namespace culprit::measurement::layout {

/// The checksum of a block's header in a live measurement: of its fields between magic and checksum.
inline std::uint64_t block_checksum(const BlockHeader& header) {
  constexpr std::size_t kBytes = offsetof(BlockHeader, checksum) - offsetof(BlockHeader, type);
  return XXH64(reinterpret_cast<const std::byte*>(&header) + offsetof(BlockHeader, type), kBytes, 0);
}

}  // namespace culprit::measurement::layout
