#pragma once

#include <cstddef>

namespace culprit::storage {

/// Has the processor bring memory that is read soon into its caches. Nothing depends on it: where there is no
/// such memory, nothing happens.
inline void prefetch(const void* begin, std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64;
  for (std::size_t at = 0; at < bytes; at += kCacheLine)
    __builtin_prefetch(static_cast<const std::byte*>(begin) + at);
}

}  // namespace culprit::storage
