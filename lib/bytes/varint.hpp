#pragma once

#include <bit>
#include <cstdint>

// Numbers in groups of seven bits, low ones first (LEB128): what docs/formats.md calls varint and zigzag, and
// DWARF's. Async-signal-safe.
namespace culprit::bytes {

/// Small numbers of either sign become small ones without.
constexpr std::uint64_t zigzag(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return bits << 1 ^ (0 - (bits >> 63));
}
constexpr std::int64_t unzigzag(std::uint64_t coded) {
  return static_cast<std::int64_t>(coded >> 1 ^ (0 - (coded & 1)));
}

/// How many bytes a number takes.
constexpr unsigned varint_size(std::uint64_t value) {
  return (static_cast<unsigned>(std::bit_width(value | 1)) + 6) / 7;
}

/// Writes a number: `put(byte)` takes one byte after the other.
template <class Put>
constexpr void write_varint(std::uint64_t value, Put put) {
  for (; value >= 0x80; value >>= 7) put(static_cast<unsigned char>(value | 0x80));
  put(static_cast<unsigned char>(value));
}

/// Reads a number: `next()` gives one byte after the other. False where it has more than 64 bits.
template <class Next>
constexpr bool read_varint(Next next, std::uint64_t& value) {
  constexpr unsigned kLastShift = 63;
  value = next();
  if (value < 0x80) [[likely]]
    return true;
  value &= 0x7f;
  for (unsigned shift = 7; shift <= kLastShift; shift += 7) {
    const std::uint64_t group = next();
    value |= (group & 0x7f) << shift;
    if (group < 0x80) return shift < kLastShift || group <= 1;
  }
  return false;
}

/// The same for a signed number of DWARF, whose sign is the highest bit of its last group.
template <class Next>
constexpr bool read_signed_varint(Next next, std::int64_t& value) {
  std::uint64_t bits = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint64_t group = next();
    bits |= (group & 0x7f) << shift;
    if (group >= 0x80) continue;
    if (shift + 7 < 64 && (group & 0x40) != 0) bits |= ~std::uint64_t{0} << (shift + 7);
    value = static_cast<std::int64_t>(bits);
    return true;
  }
  return false;
}

}  // namespace culprit::bytes
