#pragma once

#include "waits/replay/replay_steps.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace culprit::waits {

/// What calls at one path waited in a replay.
struct ReplayedWait {
  WaitPattern pattern = WaitPattern::none;
  std::uint32_t context = 0;
  std::uint64_t ns = 0;

  friend bool operator==(const ReplayedWait&, const ReplayedWait&) = default;
};

/// A run as it would have gone.
struct Replayed {
  std::uint64_t run_ns = 0;         ///< first end of MPI_Init to the last end of all
  std::uint64_t waiting_ns = 0;     ///< of all time lines
  std::vector<ReplayedWait> waits;  ///< by pattern and path
  /// Dependencies that were left out because calls would have waited for each other for ever: where a message
  /// was taken for one that waits for its receive, and was not.
  std::uint64_t contradictions = 0;
};

/// Times of a call in a replay.
struct ReplayedCall {
  std::uint64_t enter_ns = 0, exit_ns = 0;
};

/// Carries out the run again: computation as it was but for `less`, by which each gap before a call is
/// shorter (longer, where it is negative; empty: as it was), calls with their own cost, and waits as they
/// follow (docs/algorithms.md 18). `dependencies` are those that the steps were made of. The same on every
/// machine. `calls`, by line, are set where they are wanted.
Replayed replay(const ReplaySteps& steps, Matched& matched,
                std::span<const storage::Sequence<std::int64_t>> less,
                std::vector<std::vector<ReplayedCall>>* calls = nullptr);

}  // namespace culprit::waits
