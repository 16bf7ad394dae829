#pragma once

#include <cstdint>

namespace culprit::machine {

/// For functions that use take_bits(): there are the other instructions of BMI, too, counts and shifts of
/// bits that wait for nothing else.
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

}  // namespace culprit::machine
