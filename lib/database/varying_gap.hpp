#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace culprit::database {

/// Gaps between two waiting MPI calls whose lengths vary from one to the next, where that explains waiting
/// which lasting differences between threads do not (docs/algorithms.md 5.8). Section 39; the bytes are those
/// of the file.
struct VaryingGap {
  std::uint32_t role = 0;
  std::uint32_t context = 0;  ///< the call that ends it: a frontier frame
  std::uint32_t after = 0;    ///< the call before, likewise; kNone: the thread's start
  std::uint32_t threads = 0;  ///< that had it
  std::uint64_t count = 0;    ///< of all of them
  std::uint64_t mean_ns = 0;
  std::uint64_t deviation_ns = 0;    ///< standard deviation within a thread
  std::uint64_t idle_ns = 0;         ///< of all threads, in the call
  std::uint64_t unexplained_ns = 0;  ///< of that, what lasting differences do not explain

  friend bool operator==(const VaryingGap&, const VaryingGap&) = default;
};
static_assert(sizeof(VaryingGap) == 56);

/// Whether all that they refer to exists.
bool is_sound(std::span<const VaryingGap> gaps, std::size_t roles, std::size_t contexts);

}  // namespace culprit::database
