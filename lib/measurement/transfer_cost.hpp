#pragma once

#include <bit>
#include <cstdint>

// What calls that move many bytes cost per byte, in classes an eighth of an octave wide (6 % to 12 %): the
// runtime counts calls by class, prof-mpi learns from them what moving the bytes costs without waiting.
// Async-signal-safe.
namespace culprit::measurement {

// Families of calls that cost alike. Collectives have their call's number in the upper half, and the number
// of processes in the lower.
inline constexpr std::uint64_t kMessages = 1;
inline constexpr std::uint64_t kOwnMessages = 2;  ///< from a process to itself: nobody is waited for

/// The class of a call that took `time_ns` for `bytes`, more than 0. Classes ascend with the cost.
constexpr std::uint64_t cost_class(std::uint64_t time_ns, std::uint64_t bytes) {
  constexpr std::uint64_t kLongest = ~std::uint64_t{0} / 1000;
  const std::uint64_t cost = (time_ns < kLongest ? time_ns : kLongest) * 1000 / bytes;
  if (cost < 8) return cost;
  const auto exponent = static_cast<unsigned>(std::bit_width(cost)) - 4;
  return (exponent + 1) * 8 + (cost >> exponent & 7);
}

/// The middle of a class, in picoseconds per byte.
constexpr double cost_of_class(std::uint64_t cost_class) {
  if (cost_class < 8) return static_cast<double>(cost_class) + 0.5;
  const std::uint64_t exponent = cost_class / 8 - 1;
  if (exponent > 60) return 1e18;
  const auto width = static_cast<double>(std::uint64_t{1} << exponent);
  return (static_cast<double>(8 + cost_class % 8) + 0.5) * width;
}

}  // namespace culprit::measurement
