#pragma once

#include <cstddef>
#include <cstdint>

namespace culprit::storage {

/// A hash of two numbers for tables in memory; another one in the next version, perhaps.
constexpr std::size_t hash_of(std::uint64_t a, std::uint64_t b = 0) {
  __extension__ using Product = unsigned __int128;
  const Product product = Product{a ^ 0x9e3779b97f4a7c15U} * (b ^ 0xd6e8feb86659fd93U);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Two 32-bit numbers as one of 64.
constexpr std::uint64_t joined(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}
constexpr std::uint64_t joined(std::int32_t high, std::int32_t low) {
  return joined(static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(low));
}

}  // namespace culprit::storage
