#pragma once

#include "machine/aarch64/flow.hpp"
#include "structure/module.hpp"

#include <cstdint>
#include <cstring>
#include <span>

// Instructions as 32-bit words, and the few that compute addresses.
namespace culprit::structure::aarch64 {

inline constexpr std::uint8_t kWord = 4;

inline std::uint32_t word_in(std::span<const std::byte> code, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, code.data() + at, sizeof word);
  return word;
}

/// 0, which is no instruction, where there is none.
inline std::uint32_t word_at(const Module& module, std::uint64_t address) {
  const auto code = module.bytes(address);
  return code.size() < kWord ? 0 : word_in(code, 0);
}

inline bool is_adrp(std::uint32_t word) {
  return (word & 0x9f000000U) == 0x90000000U;
}
inline bool is_adr(std::uint32_t word) {
  return (word & 0x9f000000U) == 0x10000000U;
}

/// add x, x, #low
inline bool is_add_low(std::uint32_t word) {
  return (word & 0xffc00000U) == 0x91000000U;
}
/// ldr x, [x, #distance], in units of 8 bytes
inline bool is_load_distant(std::uint32_t word) {
  return (word & 0xffc00000U) == 0xf9400000U;
}
/// Of these two.
inline std::uint64_t distance_of(std::uint32_t word) {
  return std::uint64_t{word >> 10U & 0xfffU} * (is_load_distant(word) ? 8 : 1);
}

/// The distance of adr and adrp, in bytes or pages.
inline std::int64_t adr_distance(std::uint32_t word) {
  return machine::aarch64::signed_bits(word, 5, 19) * 4 + (word >> 29U & 3U);
}
inline std::uint64_t adr_of(std::uint32_t word, std::uint64_t address) {
  return address + static_cast<std::uint64_t>(adr_distance(word));
}
inline std::uint64_t adrp_of(std::uint32_t word, std::uint64_t address) {
  constexpr std::uint64_t kPage = 4096;
  return address / kPage * kPage + static_cast<std::uint64_t>(adr_distance(word) * 4096);
}

}  // namespace culprit::structure::aarch64
