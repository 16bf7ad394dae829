#pragma once

#include "database/encoding.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace culprit::database {

/// Packed numbers (docs/formats.md, "Packed numbers"): runs of up to 128, each as differences to its smallest
/// in as many bits as most of them need; the few that need more are distinguished.

/// Appends `values`.
void put_packed(std::span<const std::uint64_t> values, Encoder& into);

/// Reads `count` numbers into `values` (resized). Throws Malformed.
void get_packed(Decoder& from, std::size_t count, std::vector<std::uint64_t>& values);

/// Passes over `count` numbers. Throws Malformed.
void skip_packed(Decoder& from, std::size_t count);

/// How many bits `value` needs.
constexpr unsigned bits_of(std::uint64_t value) {
  // One more bit: so no number is zero, whose leading zeros processors do not count without a detour.
  if (value >> 63 != 0) [[unlikely]]
    return 64;
  return 63U - static_cast<unsigned>(std::countl_zero(2 * value + 1));
}

}  // namespace culprit::database
