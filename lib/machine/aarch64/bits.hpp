#pragma once

#include <cstdint>

namespace culprit::machine {

#define CULPRIT_TAKES_BITS

/// There are no such instructions (but in SVE2).
inline bool takes_bits() {
  return false;
}
inline std::uint64_t take_bits(std::uint64_t /*word*/, std::uint64_t /*mask*/) {
  return 0;
}

}  // namespace culprit::machine
