#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace culprit::machine {

/// For functions that use take_bits() or put_bits(): there are the other instructions of BMI, too, counts and
/// shifts of bits that wait for nothing else.
#define CULPRIT_TAKES_BITS [[gnu::target("bmi,bmi2")]]

/// Whether this processor extracts bits in one instruction, and not in a hundred (AMD before Zen 3).
inline bool takes_bits() {
  return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("amdfam15h") &&
         !__builtin_cpu_is("amdfam17h");
}

/// The bits of `word` at the places that are set in `mask`, one behind the other.
inline std::uint64_t take_bits(std::uint64_t word, std::uint64_t mask) {
  std::uint64_t taken = 0;
  __asm__("pextq %2, %1, %0" : "=r"(taken) : "r"(word), "r"(mask));
  return taken;
}

/// The bits of `bits`, put one after the other to the places that are set in `mask`.
inline std::uint32_t put_bits(std::uint32_t bits, std::uint32_t mask) {
  std::uint32_t put = 0;
  __asm__("pdepl %2, %1, %0" : "=r"(put) : "r"(bits), "r"(mask));
  return put;
}

/// Bit i: the highest bit of byte i of the 32 at `bytes` is not set. All zero on processors where that is not
/// simple.
inline std::uint32_t low_bytes(const unsigned char* bytes) {
  using Bytes = char __attribute__((vector_size(16)));
  Bytes halves[2];
  std::memcpy(&halves, bytes, sizeof halves);
  const auto low = static_cast<std::uint32_t>(__builtin_ia32_pmovmskb128(halves[0]));
  const auto high = static_cast<std::uint32_t>(__builtin_ia32_pmovmskb128(halves[1]));
  return ~(low | high << 16);
}

}  // namespace culprit::machine
